"""The whole command tree as data, lazily imported; exit codes."""

import gc
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any

import typer
from typer.core import DEFAULT_MARKUP_MODE as RICH_MARKUP
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info
from typer.models import CommandInfo

from tunix_rt import __version__
from tunix_rt.base.errors import StorageError, TunixRTError, error_fields
from tunix_rt.base.files.atomic import FULL_DISK_ERRORS, write_json_atomically
from tunix_rt.base.logs import redacted
from tunix_rt.base.terminal.output import note, print_error, say, silence


@dataclass(frozen=True)
class Command:
    """The function of a command and its summary in the list of commands."""

    function: str
    summary: str = ""
    """For commands outside groups: `tunix-rt --help` prints it without importing the function."""
    is_hidden: bool = False


@dataclass(frozen=True)
class Group:
    """Commands under one word, possibly of several modules."""

    help: str
    commands: dict[str, Command]
    default: str | None = None
    """The command that runs when the first word is not a command."""


COMMANDS: dict[str, Command | Group] = {
    "traces": Group(
        "Collect and check reasoning traces.",
        {
            "import": Command("tunix_rt.traces.commands.files:import_command"),
            "export": Command("tunix_rt.traces.commands.files:export_command"),
            "generate": Command("tunix_rt.problems.commands:generate"),
            "lint": Command("tunix_rt.traces.commands.files:lint"),
            "review": Command("tunix_rt.traces.commands.review:review"),
            "export-reviews": Command("tunix_rt.traces.commands.review:export_reviews"),
            "list": Command("tunix_rt.traces.commands.stored:list_traces"),
            "show": Command("tunix_rt.traces.commands.stored:show"),
            "compare": Command("tunix_rt.traces.commands.stored:compare"),
            "delete": Command("tunix_rt.traces.commands.stored:delete"),
        },
    ),
    "data": Group(
        "Build and inspect datasets.",
        {
            "validate": Command("tunix_rt.evaluation.commands:validate"),
            "gym": Command("tunix_rt.problems.commands:gym"),
            "build": Command("tunix_rt.datasets.commands:build"),
            "ingest": Command("tunix_rt.datasets.commands:ingest"),
            "list": Command("tunix_rt.datasets.commands:list_datasets"),
            "show": Command("tunix_rt.datasets.commands:show"),
            "rows": Command("tunix_rt.datasets.commands:rows"),
            "diff": Command("tunix_rt.datasets.commands:diff"),
            "export": Command("tunix_rt.datasets.commands:export"),
            "delete": Command("tunix_rt.datasets.commands:delete"),
            "xray": Command("tunix_rt.datasets.commands:xray"),
        },
    ),
    "plan": Command(
        "tunix_rt.engines.commands:plan",
        "Check whether a recipe fits a target, before anything is downloaded. Exit 1 when it does not.",
    ),
    "train": Command(
        "tunix_rt.runs.commands.train:train",
        "Train a model. docs/training.md explains the run directory, resuming and the exit codes.",
    ),
    "runs": Group(
        "Manage the runs of this home, queued or not.",
        {
            "submit": Command("tunix_rt.runs.commands.runs:submit"),
            "list": Command("tunix_rt.runs.commands.runs:list_"),
            "show": Command("tunix_rt.runs.commands.runs:show"),
            "cancel": Command("tunix_rt.runs.commands.runs:cancel"),
            "pause": Command("tunix_rt.runs.commands.runs:pause_run"),
            "resume": Command("tunix_rt.runs.commands.runs:resume_run"),
            "priority": Command("tunix_rt.runs.commands.runs:priority"),
            "rm": Command("tunix_rt.runs.commands.runs:rm"),
            "logs": Command("tunix_rt.runs.commands.runs:logs"),
        },
    ),
    "queue": Group(
        "Pause and resume the run queue.",
        {
            "status": Command("tunix_rt.runs.commands.runs:status"),
            "pause": Command("tunix_rt.runs.commands.runs:pause"),
            "resume": Command("tunix_rt.runs.commands.runs:resume"),
        },
    ),
    "worker": Command(
        "tunix_rt.cli.server:worker",
        "Run queued runs until stopped. Ctrl-C saves and requeues them; a second Ctrl-C kills them.",
    ),
    "tasks": Group(
        "Manage queued evaluations and exports.",
        {
            "carry-out": Command("tunix_rt.runs.tasks.commands:carry_out", is_hidden=True),
            "list": Command("tunix_rt.runs.tasks.commands:list_"),
            "show": Command("tunix_rt.runs.tasks.commands:show"),
            "cancel": Command("tunix_rt.runs.tasks.commands:cancel"),
            "rm": Command("tunix_rt.runs.tasks.commands:remove"),
        },
    ),
    "tune": Group(
        "Search hyperparameters: `tunix-rt tune SWEEP.yaml` is `tunix-rt tune run SWEEP.yaml`.",
        {
            "run": Command("tunix_rt.sweeps.commands:run"),
            "resume": Command("tunix_rt.sweeps.commands:resume"),
            "list": Command("tunix_rt.sweeps.commands:list_"),
            "show": Command("tunix_rt.sweeps.commands:show"),
            "cancel": Command("tunix_rt.sweeps.commands:cancel"),
            "best": Command("tunix_rt.sweeps.commands:best"),
            "rm": Command("tunix_rt.sweeps.commands:remove"),
        },
        default="run",
    ),
    "eval": Group(
        "Evaluate models: `tunix-rt eval MODEL` is `tunix-rt eval run MODEL`.",
        {
            "run": Command("tunix_rt.evaluation.commands:run"),
            "list": Command("tunix_rt.evaluation.commands:list_"),
            "show": Command("tunix_rt.evaluation.commands:show_record"),
            "items": Command("tunix_rt.evaluation.commands:items"),
            "rescore": Command("tunix_rt.evaluation.commands:rescore"),
            "score": Command("tunix_rt.evaluation.commands:score"),
            "export": Command("tunix_rt.evaluation.commands:export"),
            "add": Command("tunix_rt.evaluation.commands:add"),
            "rm": Command("tunix_rt.evaluation.commands:rm"),
            "judge": Command("tunix_rt.evaluation.rubric.commands:judge"),
            "faithfulness": Command("tunix_rt.evaluation.faithfulness.commands:faithfulness"),
            "leaderboard": Command("tunix_rt.evaluation.comparison.commands:leaderboard"),
        },
        default="run",
    ),
    "compare": Command(
        "tunix_rt.evaluation.comparison.commands:compare",
        "Show what B lost and gained against A, with both completions and a significance test.",
    ),
    "gate": Command(
        "tunix_rt.evaluation.comparison.commands:gate",
        "Check an evaluation against a baseline. Exit 1: it fails; 2: the two cannot be compared.",
    ),
    "baselines": Group(
        "Manage baselines: named evaluations, each with a rule for the gate.",
        {
            "set": Command("tunix_rt.evaluation.comparison.commands:set_"),
            "list": Command("tunix_rt.evaluation.comparison.commands:list_"),
            "history": Command("tunix_rt.evaluation.comparison.commands:history"),
            "rm": Command("tunix_rt.evaluation.comparison.commands:remove"),
        },
    ),
    "models": Group(
        "Manage registered models: versions, aliases, exports.",
        {
            "export": Command("tunix_rt.models.commands:export"),
            "export-checkpoint": Command("tunix_rt.models.commands:export_checkpoint", is_hidden=True),
            "list": Command("tunix_rt.models.commands:list_"),
            "show": Command("tunix_rt.models.commands:show"),
            "register": Command("tunix_rt.models.commands:register"),
            "alias": Command("tunix_rt.models.commands:alias"),
            "unalias": Command("tunix_rt.models.commands:unalias"),
            "tag": Command("tunix_rt.models.commands:tag"),
            "note": Command("tunix_rt.models.commands:note_"),
            "verify": Command("tunix_rt.models.commands:verify"),
            "rm": Command("tunix_rt.models.commands:rm"),
            "gc": Command("tunix_rt.models.commands:gc"),
        },
    ),
    "chat": Command(
        "tunix_rt.serving.commands:chat",
        "Chat with a model. Reasoning goes to standard error, dimmed, and answers to standard output.",
    ),
    "evidence": Group(
        "Pack the evidence of a run, and verify evidence bundles.",
        {
            "pack": Command("tunix_rt.evidence.commands:pack"),
            "verify": Command("tunix_rt.evidence.commands:verify"),
            "list": Command("tunix_rt.evidence.commands:list_bundles"),
            "schema": Command("tunix_rt.evidence.commands:schema"),
        },
    ),
    "kaggle": Group(
        "Train on Kaggle: write, push and pull notebooks.",
        {
            "notebook": Command("tunix_rt.kaggle.commands:notebook"),
            "preflight": Command("tunix_rt.kaggle.commands:preflight"),
            "push": Command("tunix_rt.kaggle.commands:push"),
            "pull": Command("tunix_rt.kaggle.commands:pull"),
        },
    ),
    "demo": Command(
        "tunix_rt.system.commands:demo",
        "Train a small model on shipped traces and test it before and after. Exit 1 when a check fails.",
    ),
    "doctor": Command(
        "tunix_rt.system.commands:doctor",
        "Check devices, engines, extras, home and database. Exit 1 when something installed is broken.",
    ),
    "up": Command(
        "tunix_rt.cli.server:up",
        "Start the server, a worker and the web app, and open a browser. The API docs are at /docs.",
    ),
    "tokens": Group(
        "Manage access tokens for the HTTP API.",
        {
            "create": Command("tunix_rt.system.commands:create"),
            "list": Command("tunix_rt.system.commands:list_"),
            "revoke": Command("tunix_rt.system.commands:revoke"),
        },
    ),
    "backup": Command(
        "tunix_rt.system.commands:backup",
        "Back up the database and the home into one file, without stopping anything. See docs/operations.md.",
    ),
    "restore": Command(
        "tunix_rt.system.commands:restore",
        "Restore a backup into an empty home and an empty database of either kind; every hash is checked.",
    ),
}
"""All commands, in the order of the workflow. A function is imported when its command runs."""


class LazyCommands(dict[str, Any]):
    """Click commands by name, built on first access.

    Example:
        LazyCommands(COMMANDS)["plan"] -> the command around the function `plan` of its module
    """

    def __init__(self, commands: Mapping[str, Command | Group]) -> None:
        super().__init__(commands)

    def __getitem__(self, name: str) -> Any:
        known = super().__getitem__(name)
        if isinstance(known, Command | Group):
            known = _group(name, known) if isinstance(known, Group) else _command(name, known)
            super().__setitem__(name, known)
        return known

    def get(self, name: str, default: Any = None) -> Any:
        """The command of this name, imported."""
        return self[name] if name in self else default

    def values(self) -> Iterator[Any]:  # type: ignore[override]
        """All of them, imported."""
        return (self[name] for name in self)

    def items(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]
        """All of them with their names, imported."""
        return ((name, self[name]) for name in self)


class CommandGroup(TyperGroup):
    """A group whose commands are imported when they are used, and whose first word may be an argument."""

    default_command: str | None = None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the default command unless the first word is a command or a help option."""
        is_argument = args and args[0] not in self.commands and args[0] not in ctx.help_option_names
        if self.default_command and is_argument:
            args = [self.default_command, *args]
        return super().parse_args(ctx, args)


def _group(name: str, group: Group) -> Any:
    built = CommandGroup(name=name, help=group.help, no_args_is_help=True, rich_markup_mode=RICH_MARKUP)
    built.commands = LazyCommands(group.commands)
    built.default_command = group.default
    return built


def _command(name: str, command: Command) -> Any:
    module_name, function = command.function.split(":")
    module = import_module(module_name)
    gc.enable()  # `main` disabled it: importing creates no garbage
    return get_command_from_info(
        CommandInfo(name=name, callback=getattr(module, function), hidden=command.is_hidden),
        pretty_exceptions_short=True,
        rich_markup_mode=RICH_MARKUP,
    )


class _Root(TyperGroup):
    """Exits cleanly on a broken pipe or an interrupt; typer would call both a failure."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = LazyCommands(COMMANDS)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """List the commands by their summaries, without importing any of them."""
        loaded, self.commands = self.commands, {name: _listed(name, it) for name, it in COMMANDS.items()}
        try:
            super().format_help(ctx, formatter)
        finally:
            self.commands = loaded

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was typed."""
        try:
            return self._invoke_and_flush(ctx)
        except KeyboardInterrupt as error:
            note("interrupted; committed work is kept, and running the same command again continues")
            raise typer.Exit(130) from error
        except BrokenPipeError as error:  # the reader (head, less) has closed the pipe
            silence(sys.stdout)
            raise typer.Exit(0) from error
        except OSError as error:
            if error.errno not in FULL_DISK_ERRORS:
                raise
            silence(sys.stdout)
            raise StorageError(
                f"The disk is full: {error}. Committed work is kept.",
                next_step="Free space where the output goes, or where TUNIX_RT_HOME is; then run it again.",
            ) from error

    def _invoke_and_flush(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        finally:
            sys.stdout.flush()


def _listed(name: str, command: Command | Group) -> Any:
    return TyperCommand(name, help=command.help if isinstance(command, Group) else command.summary)


app = typer.Typer(
    name="tunix-rt",
    cls=_Root,
    help="Turn reasoning traces into a small language model that shows its work, with proof.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        say(f"tunix-rt {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Turn reasoning traces into a small language model that shows its work, with proof."""


def _print_bug(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    # Like Python's own hook, but redacted: messages of libraries may quote secrets.
    sys.stderr.write(redacted("".join(traceback.format_exception(kind, error, where))))


ERROR_FILE_VARIABLE = "TUNIX_RT_ERROR_FILE"
"""Names the file that a worker reads when a child of its own fails."""


def _write_error_file(error: TunixRTError) -> None:
    path = os.environ.get(ERROR_FILE_VARIABLE)
    if not path:
        return
    fields = error_fields(error) | {"detail": redacted(error.detail), "exit_code": error.exit_code}
    with suppress(StorageError):  # the exit code and the output still report the error
        write_json_atomically(Path(path), fields, what="writing the error file")


def main() -> None:
    """Run the command line; an error prints its message and next step and sets the exit code.

    When `TUNIX_RT_ERROR_FILE` is set, the error is written to that file too.
    """
    # Of the 0.7 s that `traces list` took, 0.1 s went into collections while modules were imported and 0.2 s
    # into those at exit, which skip what is frozen.
    gc.disable()
    try:
        app()
    except TunixRTError as error:
        print_error(error, as_json="--json" in sys.argv)
        _write_error_file(error)
        sys.exit(error.exit_code)
    finally:
        gc.freeze()
        # Set here because typer installs a hook of its own.
        sys.excepthook = _print_bug


if __name__ == "__main__":
    main()
