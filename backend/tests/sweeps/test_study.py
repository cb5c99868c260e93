"""The sampler's suggestions, its journal and the importances it computes."""

import math
import statistics
from typing import Any

import pytest
from support.sweeps import LEARNING_RATE, make_spec

from tunix_rt.sweeps.study import SweepStudy

SEARCH_SPACE = {
    "training.batch_size": {"type": "choice", "values": [2, 4]},
    "lora.targets": {"type": "choice", "values": [["q"], ["q", "v"]]},
    "lora.rank": {"type": "lograndint", "min": 1, "max": 64},
    "training.warmup_steps": {"type": "randint", "min": 0, "max": 3},
    "lora.dropout": {"type": "uniform", "min": 0.0, "max": 0.5},
    "training.learning_rate": LEARNING_RATE,
}


def make_study(records: list[dict[str, Any]] | None = None, **keys: Any) -> SweepStudy:
    return SweepStudy("rates-0", make_spec(**keys), records or [])


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_suggestions_stay_in_range(sampler: str) -> None:
    study = make_study(search_space=SEARCH_SPACE, sampler=sampler)
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
def test_reloaded_study_suggests_the_same(sampler: str) -> None:
    space = {"training.batch_size": {"type": "choice", "values": [1, 2, 4, 8, 16, 32, 64, 128]}}
    original = make_study(search_space=space, sampler=sampler)
    records: list[dict[str, Any]] = []
    for number in range(8):
        reloaded = make_study(records, search_space=space, sampler=sampler)
        suggested = original.ask()
        assert reloaded.ask() == suggested
        original.succeed(number, number)
        reloaded.succeed(number, number)
        records += reloaded.journal.pop_new()


def test_seed_changes_suggestions() -> None:
    assert make_study(seed=1).ask().params != make_study(seed=2).ask().params


def test_grid_tries_every_combination_once() -> None:
    space = {
        "training.batch_size": {"type": "choice", "values": [2, 4]},
        "training.warmup_steps": {"type": "randint", "min": 0, "max": 2},
    }
    study = make_study(search_space=space, sampler="grid", budget={})
    combinations = []
    for number in range(6):
        combinations.append(tuple(study.ask().params.values()))
        study.succeed(number, 1.0)
    assert sorted(combinations) == [(size, steps) for size in (2, 4) for steps in (0, 1, 2)]


def mean_log_error(sampler: str) -> float:
    """Return the mean distance from 1e-3, in decades, over the second half of 40 trials."""
    study = make_study(sampler=sampler)
    errors = []
    for number in range(40):
        rate: Any = study.ask().params["training.learning_rate"]
        errors.append(abs(math.log10(rate / 1e-3)))
        study.succeed(number, errors[-1])
    return statistics.fmean(errors[20:])


def test_tpe_beats_random_sampling() -> None:
    assert mean_log_error("tpe") < mean_log_error("random") / 2


@pytest.mark.parametrize("pruner", ["median", "hyperband"])
def test_only_poor_trials_are_pruned(pruner: str) -> None:
    study = make_study(pruner=pruner)
    for number in range(8):
        study.ask()
        assert study.report(number, [(percent, 1.0) for percent in range(5, 101, 5)]) is None
        study.succeed(number, 1.0)
    study.ask(), study.ask()
    assert study.report(8, [(percent, 0.5) for percent in range(5, 101, 5)]) is None
    stopped_at = study.report(9, [(percent, 9.0) for percent in range(5, 101, 5)])
    assert stopped_at is not None
    assert stopped_at >= 10


def test_repeated_reports_are_ignored() -> None:
    study = make_study(pruner="median")
    study.ask()
    study.report(0, [(5, 1.0), (10, 0.9)])
    study.journal.pop_new()
    study.report(0, [(5, 1.0), (10, 0.9)])
    assert study.journal.pop_new() == []


def test_deciding_key_ranks_first() -> None:
    space = {
        "training.learning_rate": LEARNING_RATE,
        "lora.dropout": {"type": "uniform", "min": 0, "max": 0.5},
    }
    study = make_study(search_space=space, sampler="random")
    for number in range(40):
        rate: Any = study.ask().params["training.learning_rate"]
        study.succeed(number, abs(rate - 1e-3))
    importances = study.importances()
    assert sum(importances.values()) == pytest.approx(1)
    assert next(iter(importances)) == "training.learning_rate"


@pytest.mark.parametrize("values", [[2], [2, 4]])
def test_importances_are_empty_without_effect(values: list[int]) -> None:
    study = make_study(
        search_space={"training.batch_size": {"type": "choice", "values": values}}, sampler="random"
    )
    for number in range(6):
        study.ask()
        study.succeed(number, float(number) if len(values) == 1 else 1.0)
    assert study.importances() == {}
