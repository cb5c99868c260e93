"""`tunix-rt`: one verb a stage."""

import sys
import traceback
from types import TracebackType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tunix_rt import __version__
from tunix_rt.cli.lazy_commands import LazyCommands
from tunix_rt.cli.output import note, print_error, say
from tunix_rt.cli.standard_error import write_no_more
from tunix_rt.core.errors import StorageError, TunixRTError
from tunix_rt.core.redaction import redacted
from tunix_rt.files.atomic import FULL_DISK_ERRORS

COMMANDS = {
    "traces": "traces:app",
    "data": "data_commands:app",
    "plan": "plan:plan",
    "train": "train:train",
    "runs": "runs_commands:app",
    "queue": "queue:app",
    "worker": "worker:worker",
    "tasks": "tasks:app",
    "tune": "tune:app",
    "eval": "eval_commands:app",
    "compare": "compare:compare",
    "gate": "gate:gate",
    "baselines": "baselines:app",
    "models": "models:app",
    "chat": "chat:chat",
    "evidence": "evidence:app",
    "kaggle": "kaggle:app",
    "demo": "demo:demo",
    "doctor": "doctor:doctor",
    "up": "server:up",
    "tokens": "tokens:app",
    "backup": "backup:backup",
    "restore": "backup:restore",
}
"""Where each command lies, in the order in which people meet them."""


class _Commands(TyperGroup):
    """Ends in peace when the reader has left or the user interrupts; typer would call both a failure."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = LazyCommands(COMMANDS)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was typed."""
        try:
            return self._invoke_and_flush(ctx)
        except KeyboardInterrupt as error:
            note("interrupted; what was committed stays, running the same command again continues")
            raise typer.Exit(130) from error
        except BrokenPipeError as error:  # the reader (head, less) has seen enough
            write_no_more(sys.stdout)
            raise typer.Exit(0) from error
        except OSError as error:
            if error.errno not in FULL_DISK_ERRORS:
                raise
            write_no_more(sys.stdout)
            raise StorageError(
                f"The disk is full: {error}. What was committed stays.",
                next_step="Free space where the output goes, or where TUNIX_RT_HOME is; then run it again.",
            ) from error

    def _invoke_and_flush(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        finally:
            sys.stdout.flush()


app = typer.Typer(
    name="tunix-rt",
    cls=_Commands,
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
    # As Python does it, without the secrets that a message of some library may quote.
    sys.stderr.write(redacted("".join(traceback.format_exception(kind, error, where))))


def main() -> None:
    """Run the command line; an error becomes its message, its next step and its exit code."""
    try:
        app()
    except TunixRTError as error:
        print_error(error, as_json="--json" in sys.argv)
        sys.exit(error.exit_code)
    finally:
        # Now: typer has put a hook of its own there.
        sys.excepthook = _print_bug


if __name__ == "__main__":
    main()
