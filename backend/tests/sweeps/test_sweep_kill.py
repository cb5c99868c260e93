"""A process that advances a sweep may be killed at any point, and may not be the only one."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
import support.sweep_child
from support.children import environment
from support.sweeps import rate_of, started, statuses, train_next

from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.types import RunFilter
from tunix_rt.sweeps.advance import advance
from tunix_rt.sweeps.store import SweepRepository
from tunix_rt.sweeps.study import SweepStudy

NUM_TRIALS = 12


def start_child(settings: Settings, mode: str, sweep_id: str) -> "subprocess.Popen[str]":
    # -P keeps the directory of the program off sys.path, where its files would shadow standard modules.
    program = [sys.executable, "-P", str(Path(support.sweep_child.__file__)), mode, sweep_id]
    return subprocess.Popen(program, env=environment(settings), stdin=subprocess.PIPE, text=True)


def num_runs(store: Home, sweep_id: str) -> int:
    return RunRepository(store.database).list(RunFilter(sweep_id=sweep_id), limit=1, offset=0).total


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("mode", "num_submitted"), [("die-after-deciding", 0), ("die-after-submitting", 1)])
def test_kill_neither_loses_nor_doubles_trials(
    store: Home, settings: Settings, mode: str, num_submitted: int
) -> None:
    sweep_id = started(store)
    with start_child(settings, mode, sweep_id) as child:
        assert child.wait(timeout=60) == -signal.SIGKILL
    assert statuses(store, sweep_id) == ["queued"]
    assert num_runs(store, sweep_id) == num_submitted
    while advance(store, sweep_id):
        train_next(store, rate_of)
    assert statuses(store, sweep_id) == ["succeeded"] * 3
    assert num_runs(store, sweep_id) == 3


def test_concurrent_processes_decide_distinct_trials(store: Home, settings: Settings) -> None:
    sweep_id = started(store, budget={"num_trials": NUM_TRIALS}, max_concurrent=NUM_TRIALS)
    children = [start_child(settings, "decide", sweep_id) for _ in range(2)]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        with child:
            assert child.wait(timeout=60) == 0
    sweep = SweepRepository(store.database).get(sweep_id)
    assert [trial.number for trial in sweep.trials] == list(range(NUM_TRIALS))
    study = SweepStudy(sweep_id, sweep.spec, [])
    assert [trial.params for trial in sweep.trials] == [study.ask().params for _ in range(NUM_TRIALS)]
    assert len(SweepRepository(store.database).journal(sweep_id)) == len(study.journal.pop_new())
