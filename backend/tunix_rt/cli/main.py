"""The whole command tree as data, lazily imported; exit codes."""

import gc
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
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
from tunix_rt.base.terminal.output import note, print_error, printable, say, silence

SUMMARIES = {
    "traces": "Collect and check reasoning traces.",
    "data": "Build and inspect datasets.",
    "plan": "Check whether a recipe fits a target, before anything is downloaded. Exit 1 when it does not.",
    "train": "Train a model. docs/training.md explains the run directory, resuming and the exit codes.",
    "runs": "Manage the runs of this home, queued or not.",
    "queue": "Pause and resume the run queue.",
    "worker": "Run queued runs until stopped. Ctrl-C saves and requeues them; a second Ctrl-C kills them.",
    "tasks": "Manage queued evaluations and exports.",
    "tune": "Search hyperparameters: `tunix-rt tune SWEEP.yaml` is `tunix-rt tune run SWEEP.yaml`.",
    "eval": "Evaluate models: `tunix-rt eval MODEL` is `tunix-rt eval run MODEL`.",
    "compare": "Show what B lost and gained against A, with both completions and a significance test.",
    "gate": "Check an evaluation against a baseline. Exit 1: it fails; 2: the two cannot be compared.",
    "baselines": "Manage baselines: named evaluations, each with a rule for the gate.",
    "models": "Manage registered models: versions, aliases, exports.",
    "chat": "Chat with a model. Reasoning goes to standard error, dimmed, and answers to standard output.",
    "evidence": "Pack the evidence of a run, and verify evidence bundles.",
    "kaggle": "Train on Kaggle: write, push and pull notebooks.",
    "demo": "Train a small model on shipped traces and test it before and after. Exit 1 when a check fails.",
    "doctor": "Check devices, engines, extras, home and database. Exit 1 when something installed is broken.",
    "up": "Start the server, a worker and the web app, and open a browser. The API docs are at /docs.",
    "tokens": "Manage access tokens for the HTTP API.",
    "backup": (
        "Back up the database and the home into one file, without stopping anything. See docs/operations.md."
    ),
    "restore": (
        "Restore a backup into an empty home and an empty database of either kind; every hash is checked."
    ),
}
"""All first words, in the order of the workflow: `tunix-rt --help` imports none of their functions."""
COMMANDS: dict[str, str | dict[str, str]] = {
    "traces": {
        "import": "traces.commands.files:import_command",
        "export": "traces.commands.files:export_command",
        "generate": "problems.commands:generate",
        "lint": "traces.commands.files:lint",
        "review": "traces.commands.review:review",
        "export-reviews": "traces.commands.review:export_reviews",
        "list": "traces.commands.stored:list_traces",
        "show": "traces.commands.stored:show",
        "compare": "traces.commands.stored:compare",
        "delete": "traces.commands.stored:delete",
    },
    "data": {
        "validate": "evaluation.commands:validate",
        "gym": "problems.commands:gym",
        "build": "datasets.commands:build",
        "ingest": "datasets.commands:ingest",
        "list": "datasets.commands:list_datasets",
        "show": "datasets.commands:show",
        "rows": "datasets.commands:rows",
        "diff": "datasets.commands:diff",
        "export": "datasets.commands:export",
        "delete": "datasets.commands:delete",
        "xray": "datasets.commands:xray",
    },
    "plan": "engines.commands:plan",
    "train": "runs.commands.train:train",
    "runs": {
        "submit": "runs.commands.runs:submit",
        "list": "runs.commands.runs:list_",
        "show": "runs.commands.runs:show",
        "cancel": "runs.commands.runs:cancel",
        "pause": "runs.commands.runs:pause_run",
        "resume": "runs.commands.runs:resume_run",
        "priority": "runs.commands.runs:priority",
        "rm": "runs.commands.runs:rm",
        "logs": "runs.commands.runs:logs",
    },
    "queue": {
        "status": "runs.commands.runs:status",
        "pause": "runs.commands.runs:pause",
        "resume": "runs.commands.runs:resume",
    },
    "worker": "cli.server:worker",
    "tasks": {
        "carry-out": "runs.tasks.commands:carry_out",
        "list": "runs.tasks.commands:list_",
        "show": "runs.tasks.commands:show",
        "cancel": "runs.tasks.commands:cancel",
        "rm": "runs.tasks.commands:remove",
    },
    "tune": {
        "run": "sweeps.commands:run",
        "resume": "sweeps.commands:resume",
        "list": "sweeps.commands:list_",
        "show": "sweeps.commands:show",
        "cancel": "sweeps.commands:cancel",
        "best": "sweeps.commands:best",
        "rm": "sweeps.commands:remove",
    },
    "eval": {
        "run": "evaluation.commands:run",
        "list": "evaluation.commands:list_",
        "show": "evaluation.commands:show_record",
        "items": "evaluation.commands:items",
        "rescore": "evaluation.commands:rescore",
        "score": "evaluation.commands:score",
        "export": "evaluation.commands:export",
        "add": "evaluation.commands:add",
        "rm": "evaluation.commands:rm",
        "judge": "evaluation.rubric.commands:judge",
        "faithfulness": "evaluation.faithfulness.commands:faithfulness",
        "leaderboard": "evaluation.comparison.commands:leaderboard",
    },
    "compare": "evaluation.comparison.commands:compare",
    "gate": "evaluation.comparison.commands:gate",
    "baselines": {
        "set": "evaluation.comparison.commands:set_",
        "list": "evaluation.comparison.commands:list_",
        "history": "evaluation.comparison.commands:history",
        "rm": "evaluation.comparison.commands:remove",
    },
    "models": {
        "export": "models.commands:export",
        "export-checkpoint": "models.commands:export_checkpoint",
        "list": "models.commands:list_",
        "show": "models.commands:show",
        "register": "models.commands:register",
        "alias": "models.commands:alias",
        "unalias": "models.commands:unalias",
        "tag": "models.commands:tag",
        "note": "models.commands:note_",
        "verify": "models.commands:verify",
        "rm": "models.commands:rm",
        "gc": "models.commands:gc",
    },
    "chat": "serving.commands:chat",
    "evidence": {
        "pack": "evidence.commands:pack",
        "verify": "evidence.commands:verify",
        "list": "evidence.commands:list_bundles",
        "schema": "evidence.commands:schema",
    },
    "kaggle": {
        "notebook": "kaggle.commands:notebook",
        "preflight": "kaggle.commands:preflight",
        "push": "kaggle.commands:push",
        "pull": "kaggle.commands:pull",
    },
    "demo": "system.commands:demo",
    "doctor": "system.commands:doctor",
    "up": "cli.server:up",
    "tokens": {
        "create": "system.commands:create",
        "list": "system.commands:list_",
        "revoke": "system.commands:revoke",
    },
    "backup": "system.commands:backup",
    "restore": "system.commands:restore",
}
"""The function of each command, imported when it runs. A group may collect commands of several features."""
_HIDDEN = frozenset({"carry-out", "export-checkpoint"})
_DEFAULTS = {"tune": "run", "eval": "run"}
"""The command of a group that runs when the first word is not a command."""


class LazyCommands(dict[str, Any]):
    """Click commands by name, built on first access.

    Example:
        LazyCommands(COMMANDS)["plan"] -> the command around the function `plan` of its module
    """

    def __getitem__(self, name: str) -> Any:
        known = super().__getitem__(name)
        if isinstance(known, str | dict):
            known = _group(name, known) if isinstance(known, dict) else _command(name, known)
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


def _group(name: str, commands: dict[str, str]) -> Any:
    group = CommandGroup(name=name, help=SUMMARIES[name], no_args_is_help=True, rich_markup_mode=RICH_MARKUP)
    group.commands = LazyCommands(commands)
    group.default_command = _DEFAULTS.get(name)
    return group


def _command(name: str, path: str) -> Any:
    module_name, function = path.split(":")
    module = import_module(f"tunix_rt.{module_name}")
    gc.enable()  # `main` disabled it: importing creates no garbage
    return get_command_from_info(
        CommandInfo(name=name, callback=getattr(module, function), hidden=name in _HIDDEN),
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
        loaded = self.commands
        self.commands = {name: TyperCommand(name, help=summary) for name, summary in SUMMARIES.items()}
        try:
            super().format_help(ctx, formatter)
        finally:
            self.commands = loaded

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was typed."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
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
    sys.stderr.write(printable(redacted("".join(traceback.format_exception(kind, error, where)))))


def _write_error_file(error: TunixRTError) -> None:
    if path := os.environ.get("TUNIX_RT_ERROR_FILE"):
        fields = error_fields(error) | {"detail": redacted(error.detail), "exit_code": error.exit_code}
        with suppress(StorageError):  # the exit code and the output still report the error
            write_json_atomically(Path(path), fields, what="writing the error file")


def main() -> None:
    """Run the command line; an error prints its message and next step and sets the exit code.

    When `TUNIX_RT_ERROR_FILE` is set, the error is written to that file too, for the worker that started it.
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
