"""A second sweep scheduler in a child process: dies at a chosen moment, or races for trials."""

import os
import signal
import sys
from datetime import UTC, datetime
from typing import Any

from tunix_rt.base.home import Home, open_home
from tunix_rt.base.settings import load_settings
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.sweeps.advance import TrialScheduler, advance
from tunix_rt.sweeps.store import SweepRepository


def die_after(repository: type, method: str) -> None:
    """Make this process kill itself with SIGKILL right after the method returns."""
    original = getattr(repository, method)

    def dying(*args: Any) -> None:
        original(*args)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("still alive")

    setattr(repository, method, dying)


def decide(store: Home, sweep_id: str) -> None:
    """Suggest trials until the budget is spent, in a race with other processes."""
    while True:
        scheduler = TrialScheduler(store, sweep_id, datetime.now(UTC))
        if not scheduler.num_remaining():
            return
        scheduler.suggest_trials()
        scheduler.commit()


def main(mode: str, sweep_id: str) -> None:
    """Run one mode on a sweep of the store that the environment names."""
    store = open_home(load_settings())
    if mode == "die-after-deciding":
        die_after(SweepRepository, "commit")
        advance(store, sweep_id)
    elif mode == "die-after-submitting":
        die_after(RunRepository, "add")
        advance(store, sweep_id)
    else:
        sys.stdin.readline()  # Wait for the start signal.
        decide(store, sweep_id)
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
