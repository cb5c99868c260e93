"""Somebody else who looks after a sweep: dies at a chosen moment, or decides as fast as it can."""

import os
import signal
import sys
from dataclasses import replace
from datetime import UTC, datetime

from tunix_rt.config.settings import load_settings
from tunix_rt.core.runs.run import RunDetail
from tunix_rt.core.runs.store_types import NewRun
from tunix_rt.db.runs import RunRepository
from tunix_rt.db.sweeps import Decision, SweepRepository
from tunix_rt.services.store import Store, open_store
from tunix_rt.services.sweeps.advancing import advance
from tunix_rt.services.sweeps.deciding import Decider


class SweepsThatDie(SweepRepository):
    """Dies by SIGKILL right after a decision is stored."""

    def commit(self, sweep_id: str, decision: Decision) -> bool:
        super().commit(sweep_id, decision)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("still alive")


class RunsThatDie(RunRepository):
    """Dies by SIGKILL right after a run is submitted."""

    def add(self, run: NewRun) -> RunDetail:
        super().add(run)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("still alive")


def decide(store: Store, sweep_id: str) -> None:
    """Ask for trials until the budget is spent, against whoever does the same."""
    while True:
        decider = Decider(store, sweep_id, datetime.now(UTC))
        if not decider.num_wanted():
            return
        decider.ask_for_more()
        decider.store_decision()


def main(mode: str, sweep_id: str) -> None:
    """Do what `mode` says with one sweep of the store that the environment names."""
    store = open_store(load_settings())
    if mode == "die-after-deciding":
        advance(replace(store, sweeps=SweepsThatDie(store.engine)), sweep_id)
    elif mode == "die-after-submitting":
        advance(replace(store, runs=RunsThatDie(store.engine)), sweep_id)
    else:
        sys.stdin.readline()  # Until everybody is ready.
        decide(store, sweep_id)
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
