"""`tunix-rt runs logs`: what a run prints, while it prints it."""

import sys
import time
from contextlib import closing
from typing import Annotated

import typer

from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import note
from tunix_rt.cli.runs import RunArgument
from tunix_rt.core.runs.live import LogChunk
from tunix_rt.services.runs.cursors import Cursor
from tunix_rt.services.runs.following import LOOK_EVERY_S, RunWatch
from tunix_rt.services.runs.listing import find_run_id
from tunix_rt.services.runs.live import LiveMessage, RunReader


def logs(
    run: RunArgument,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the run has ended; Ctrl-C leaves it alone.")
    ] = False,
    tail: Annotated[int | None, typer.Option("--tail", "-n", min=0, help="Only the last lines.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """What a run has printed, from all of its attempts."""
    with opened_home() as home:
        run_id = find_run_id(home, run)
        with closing(RunWatch(home, run_id)) as watch:
            place = 0 if tail is None else watch.log.place_of_last_lines(tail)
            _print_log(watch, RunReader(watch, Cursor(log=place), sources=["log"]), follow, as_json)
            if follow:
                note(f"{run_id}: {watch.status}")


def _print_log(watch: RunWatch, reader: RunReader, follow: bool, as_json: bool) -> None:
    while not reader.is_finished:
        messages = reader.read()
        for message in messages:
            _print_message(message, as_json)
        if not messages and not follow:
            return
        if not messages:
            sys.stdout.flush()
            time.sleep(LOOK_EVERY_S)
            watch.look()


def _print_message(message: LiveMessage, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(message.data + "\n")
    elif message.kind == "log":
        sys.stdout.write(LogChunk.model_validate_json(message.data).chunk)
