"""Waiting for the end of a run."""

import time

from tunix_rt.base.home import Home
from tunix_rt.base.terminal.output import note
from tunix_rt.core.runs.run import RunDetail
from tunix_rt.core.runs.states import TERMINAL
from tunix_rt.db.runs import RunRepository

_LOOK_EVERY_S = 0.5


def wait_for_end(home: Home, run_id: str) -> RunDetail:
    """Say what happens to a run until it has ended. Ctrl-C ends the waiting, not the run."""
    num_said = 0
    while True:
        standing = RunRepository(home.database).status_of(run_id)
        for event in RunRepository(home.database).events(run_id, after=num_said - 1):
            note(f"{event.time:%H:%M:%S} {event.kind}: {event.message}")
            num_said = event.sequence + 1
        if standing.status in TERMINAL:
            return RunRepository(home.database).get(run_id)
        time.sleep(_LOOK_EVERY_S)
