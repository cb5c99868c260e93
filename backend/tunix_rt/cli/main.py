"""`tunix-rt`: one verb a stage."""

import os
import sys
from typing import Annotated

import typer

from tunix_rt import __version__
from tunix_rt.cli import data, data_xray, demo, server, traces
from tunix_rt.cli.output import note, print_error, say
from tunix_rt.core.errors import TunixRTError

app = typer.Typer(
    name="tunix-rt",
    help="Turn reasoning traces into a small language model that shows its work, with proof.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(traces.app, name="traces", help="Collect and check reasoning traces.")
data.app.command("xray")(data_xray.xray)
app.add_typer(data.app, name="data", help="Build and inspect datasets.")
app.command("demo")(demo.demo)
app.command("up")(server.up)


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


def main() -> None:
    """Run the command line; an error becomes its message, its next step and its exit code."""
    try:
        app()
    except TunixRTError as error:
        print_error(error, as_json="--json" in sys.argv)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        note("interrupted; what was committed stays, running the same command again continues")
        sys.exit(130)
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python would complain once more at exit otherwise.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


if __name__ == "__main__":
    main()
