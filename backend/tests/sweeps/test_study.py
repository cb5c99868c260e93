"""What the sampler suggests, remembers and finds out."""

import math
import statistics
from typing import Any

import pytest
from support.sweeps import LEARNING_RATE, make_spec

from tunix_rt.sweeps.study import SweepStudy

SMALL_SPACE = {
    "training.batch_size": {"type": "choice", "values": [2, 4]},
    "lora.targets": {"type": "choice", "values": [["q"], ["q", "v"]]},
    "lora.rank": {"type": "lograndint", "min": 1, "max": 64},
    "training.warmup_steps": {"type": "randint", "min": 0, "max": 3},
    "lora.dropout": {"type": "uniform", "min": 0.0, "max": 0.5},
    "training.learning_rate": LEARNING_RATE,
}


def study_of(records: list[dict[str, Any]] | None = None, **keys: Any) -> SweepStudy:
    return SweepStudy("rates-0", make_spec(**keys), records or [])


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_every_value_lies_in_its_range(sampler: str) -> None:
    study = study_of(search_space=SMALL_SPACE, sampler=sampler)
    for number in range(15):
        params: dict[str, Any] = study.ask().params
        assert params["training.batch_size"] in (2, 4)
        assert params["lora.targets"] in (["q"], ["q", "v"])
        assert 1 <= params["lora.rank"] <= 64
        assert isinstance(params["lora.rank"], int)
        assert params["training.warmup_steps"] in range(4)
        assert 0 <= params["lora.dropout"] <= 0.5
        assert 1e-4 <= params["training.learning_rate"] <= 1e-2
        study.succeed(number, params["training.learning_rate"])


@pytest.mark.parametrize("sampler", ["random", "tpe", "grid"])
def test_a_study_that_is_read_back_goes_on_as_if_it_had_never_stopped(sampler: str) -> None:
    space = {"training.batch_size": {"type": "choice", "values": [1, 2, 4, 8, 16, 32, 64, 128]}}
    whole = study_of(search_space=space, sampler=sampler)
    records: list[dict[str, Any]] = []
    for number in range(8):
        broken = study_of(records, search_space=space, sampler=sampler)
        suggested = whole.ask()
        assert broken.ask() == suggested
        whole.succeed(number, number)
        broken.succeed(number, number)
        records += broken.journal.pop_new()


def test_another_seed_tries_other_values() -> None:
    assert study_of(seed=1).ask().params != study_of(seed=2).ask().params


def test_a_grid_tries_every_combination_once() -> None:
    space = {
        "training.batch_size": {"type": "choice", "values": [2, 4]},
        "training.warmup_steps": {"type": "randint", "min": 0, "max": 2},
    }
    study = study_of(search_space=space, sampler="grid", budget={})
    tried = []
    for number in range(6):
        tried.append(tuple(study.ask().params.values()))
        study.succeed(number, 1.0)
    assert sorted(tried) == [(size, steps) for size in (2, 4) for steps in (0, 1, 2)]


def magnitudes_off(sampler: str) -> float:
    """How far from 1e-3 the second half of 40 trials are that look for it."""
    study = study_of(sampler=sampler)
    off = []
    for number in range(40):
        rate: Any = study.ask().params["training.learning_rate"]
        off.append(abs(math.log10(rate / 1e-3)))
        study.succeed(number, off[-1])
    return statistics.fmean(off[20:])


def test_the_sampler_learns_where_good_values_are() -> None:
    assert magnitudes_off("tpe") < magnitudes_off("random") / 2


@pytest.mark.parametrize("pruner", ["median", "hyperband"])
def test_a_hopeless_trial_is_stopped_and_a_good_one_is_not(pruner: str) -> None:
    study = study_of(pruner=pruner)
    for number in range(8):
        study.ask()
        assert study.report(number, [(percent, 1.0) for percent in range(5, 101, 5)]) is None
        study.succeed(number, 1.0)
    study.ask(), study.ask()
    assert study.report(8, [(percent, 0.5) for percent in range(5, 101, 5)]) is None
    stopped_at = study.report(9, [(percent, 9.0) for percent in range(5, 101, 5)])
    assert stopped_at is not None
    assert stopped_at >= 10


def test_what_was_reported_is_not_reported_again() -> None:
    study = study_of(pruner="median")
    study.ask()
    study.report(0, [(5, 1.0), (10, 0.9)])
    study.journal.pop_new()
    study.report(0, [(5, 1.0), (10, 0.9)])
    assert study.journal.pop_new() == []


def test_the_key_that_decides_is_the_important_one() -> None:
    space = {
        "training.learning_rate": LEARNING_RATE,
        "lora.dropout": {"type": "uniform", "min": 0, "max": 0.5},
    }
    study = study_of(search_space=space, sampler="random")
    for number in range(40):
        rate: Any = study.ask().params["training.learning_rate"]
        study.succeed(number, abs(rate - 1e-3))
    found = study.importances()
    assert sum(found.values()) == pytest.approx(1)
    assert next(iter(found)) == "training.learning_rate"


@pytest.mark.parametrize("values", [[2], [2, 4]])
def test_where_nothing_mattered_nothing_is_important(values: list[int]) -> None:
    study = study_of(
        search_space={"training.batch_size": {"type": "choice", "values": values}}, sampler="random"
    )
    for number in range(6):
        study.ask()
        study.succeed(number, float(number) if len(values) == 1 else 1.0)
    assert study.importances() == {}
