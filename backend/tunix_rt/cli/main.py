"""`tunix-rt`: one verb a stage."""

import os
import sys
import traceback
from types import TracebackType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tunix_rt import __version__
from tunix_rt.cli import (
    backup,
    baselines,
    chat,
    compare,
    data,
    data_xray,
    demo,
    doctor,
    eval_export,
    eval_faithfulness,
    eval_group,
    eval_judge,
    eval_records,
    eval_rescore,
    gate,
    leaderboard,
    models,
    plan,
    queue,
    runs,
    runs_logs,
    server,
    tokens,
    traces,
    train,
    tune,
    worker,
)
from tunix_rt.cli import eval as eval_run
from tunix_rt.cli.output import note, print_error, say
from tunix_rt.core.errors import TunixRTError
from tunix_rt.core.redaction import redacted


class _Commands(TyperGroup):
    """Ends in peace when the reader has left or the user interrupts; typer would call both a failure."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was typed."""
        try:
            return self._invoke_and_flush(ctx)
        except KeyboardInterrupt as error:
            note("interrupted; what was committed stays, running the same command again continues")
            raise typer.Exit(130) from error
        except BrokenPipeError as error:
            # The reader (head, less) has seen enough. Python would complain once more at exit otherwise.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from error

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
app.add_typer(traces.app, name="traces", help="Collect and check reasoning traces.")
data.app.command("xray")(data_xray.xray)
app.add_typer(data.app, name="data", help="Build and inspect datasets.")
app.command("plan")(plan.plan)
app.command("train")(train.train)
runs.app.command("logs")(runs_logs.logs)
app.add_typer(runs.app, name="runs", help="Runs in the queue, and every other run of this home.")
app.add_typer(queue.app, name="queue", help="Whether workers take runs.")
eval_group.app.command("run")(eval_run.run)
eval_group.app.command("list")(eval_records.list_)
eval_group.app.command("show")(eval_records.show)
eval_group.app.command("items")(eval_records.items)
eval_group.app.command("rescore")(eval_rescore.rescore)
eval_group.app.command("score")(eval_rescore.score)
eval_group.app.command("export")(eval_export.export)
eval_group.app.command("add")(eval_records.add)
eval_group.app.command("rm")(eval_records.rm)
eval_group.app.command("judge")(eval_judge.judge)
eval_group.app.command("faithfulness")(eval_faithfulness.faithfulness)
eval_group.app.command("leaderboard")(leaderboard.leaderboard)
app.add_typer(
    eval_group.app, name="eval", help="Evaluate: `tunix-rt eval MODEL` is `tunix-rt eval run MODEL`."
)
app.command("compare")(compare.compare)
app.command("gate")(gate.gate)
app.add_typer(baselines.app, name="baselines", help="Evaluations with a name and a rule, for the gate.")
app.add_typer(models.app, name="models", help="Registered models: versions, aliases, exports.")
app.add_typer(
    tune.app, name="tune", help="Search: `tunix-rt tune SWEEP.yaml` is `tunix-rt tune run SWEEP.yaml`."
)
app.command("chat")(chat.chat)
app.command("demo")(demo.demo)
app.command("doctor")(doctor.doctor)
app.command("up")(server.up)
app.command("worker")(worker.worker)
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)
app.add_typer(tokens.app, name="tokens", help="Who may ask over the network.")


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
