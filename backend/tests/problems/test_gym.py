"""reasoning-gym tasks become traces only if their steps can be worked out."""

import builtins
from types import ModuleType
from typing import Any

import pytest

from tunix_rt.base.errors import InvalidInputError, MissingExtraError
from tunix_rt.problems.gym import GYM_STEPS, gym_eval_items, gym_task_names, gym_traces
from tunix_rt.traces.linter.findings import CODES
from tunix_rt.traces.linter.linter import lint_trace


@pytest.mark.parametrize("name", GYM_STEPS)
def test_task_traces_are_valid_and_distinct(name: str) -> None:
    traces = list(gym_traces(name, 15, seed=4))
    assert len({trace.prompt for trace in traces}) == 15
    for trace in traces:
        assert trace.final_answer in trace.steps[-1].content
        assert not [f for f in lint_trace(trace).findings if CODES[f.code].severity == "error"]


def test_same_seed_gives_same_traces() -> None:
    assert list(gym_traces("gsm_symbolic", 5, 1)) == list(gym_traces("gsm_symbolic", 5, 1))


def test_task_without_steps_is_rejected() -> None:
    with pytest.raises(InvalidInputError, match=r"sudoku.*no worked steps.*eval items.*gsm_symbolic"):
        gym_traces("sudoku", 1, 1)


def test_task_without_steps_gives_eval_items() -> None:
    items = list(gym_eval_items("syllogism", 4, seed=1))
    assert [item.category for item in items] == ["syllogism"] * 4
    assert {item.expected_answer for item in items} <= {"Yes", "No"}


@pytest.mark.parametrize("name", ["list_functions", "time_intervals"])
def test_nondeterministic_task_is_rejected(name: str) -> None:
    with pytest.raises(InvalidInputError, match=name):
        gym_eval_items(name, 1, 1)


def test_unknown_task_suggests_nearest() -> None:
    with pytest.raises(InvalidInputError, match=r"Did you mean .*gsm_symbolic"):
        gym_traces("gsm_symbolc", 1, 1)


def test_exhausted_task_is_an_error() -> None:
    with pytest.raises(InvalidInputError, match="distinct usable prompts"):
        list(gym_eval_items("prime_factorization", 1_000, seed=1))


def test_tasks_with_steps_are_registered() -> None:
    assert set(GYM_STEPS) <= set(gym_task_names())


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def import_without_gym(name: str, *args: Any, **kwargs: Any) -> ModuleType:
        if name.startswith("reasoning_gym"):
            raise ModuleNotFoundError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", import_without_gym)
    with pytest.raises(MissingExtraError, match=r"tunix-rt\[gym\]"):
        gym_traces("gsm_symbolic", 1, 1)
