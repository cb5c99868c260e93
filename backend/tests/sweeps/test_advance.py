"""A sweep from its first trial to its last, with an instant stand-in for training."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from support.evaluations import make_evaluation, make_model, make_predictions
from support.queued_runs import make_worker
from support.sweeps import (
    RECIPE,
    claim_next,
    fail_next,
    figures_of,
    make_spec,
    rate_of,
    started,
    statuses,
    train_next,
    with_rows,
)

from tunix_rt.base.errors import ConflictError, InvalidInputError, NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.workers import WorkerRepository
from tunix_rt.runs.types import RunFilter
from tunix_rt.sweeps.advance import advance, advance_all
from tunix_rt.sweeps.create import create
from tunix_rt.sweeps.service import cancel, resume
from tunix_rt.sweeps.store import SweepRepository

UP_TO_NINE = {"type": "randint", "min": 0, "max": 9}
BATCH_SIZES = {"training.batch_size": {"type": "choice", "values": [1, 2, 4, 8]}}

INVALID_SWEEPS: list[tuple[dict[str, Any], str]] = [
    ({"recipe": "no-such-recipe"}, "There is no recipe 'no-such-recipe'"),
    ({"dataset": "no-such-data-v1"}, "no-such-data-v1"),
    ({"eval_set": "no-such-set"}, "no-such-set"),
    ({"metric": "validation_loss"}, "the recipe has no validation"),
    ({"search_space": {"training.batch_size": {"type": "choice", "values": [2, 0]}}}, "batch_size must"),
    ({"search_space": {"training.warmup_steps": UP_TO_NINE}}, "warmup_steps 9 is more than num_steps 4"),
    ({"search_space": {"training.bach": UP_TO_NINE}}, "batch_size"),
]


def num_runs(store: Home, sweep_id: str) -> int:
    return RunRepository(store.database).list(RunFilter(sweep_id=sweep_id), limit=1, offset=0).total


def write_losses(store: Home, run_id: str, losses: list[float]) -> None:
    run_dir = store.settings.runs_dir / run_id
    run_dir.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"step": step, "loss": loss}) + "\n" for step, loss in enumerate(losses, start=1)]
    (run_dir / "metrics.jsonl").write_text("".join(lines), encoding="utf-8")


def test_sweep_spends_budget_and_finds_best(store: Home) -> None:
    sweep_id = started(store)
    rates = []
    while advance(store, sweep_id):
        rates.append(rate_of(train_next(store, rate_of)))
    sweep = SweepRepository(store.database).get(sweep_id)
    assert sweep.status == "succeeded"
    assert [trial.value for trial in sweep.trials] == rates
    assert len(set(rates)) == 3
    assert sweep.best is not None
    assert sweep.best.value == min(rates)
    assert sweep.best_run_id == sweep.best.run_id
    assert RunRepository(store.database).get(sweep.best_run_id).sweep_id == sweep_id


def test_advance_is_idempotent(store: Home) -> None:
    sweep_id = started(store, max_concurrent=2)
    for _ in range(3):
        assert advance(store, sweep_id)
    assert num_runs(store, sweep_id) == 2
    train_next(store, rate_of)
    for _ in range(3):
        assert advance(store, sweep_id)
    assert statuses(store, sweep_id) == ["succeeded", "queued", "queued"]
    assert num_runs(store, sweep_id) == 3


def test_grid_runs_every_combination(store: Home) -> None:
    sweep_id = started(store, search_space=BATCH_SIZES, sampler="grid", budget={}, max_concurrent=3)
    sizes: list[Any] = []
    while advance(store, sweep_id):
        run = train_next(store, lambda run: 1.0)
        training: Any = run.recipe["training"]
        sizes.append(training["batch_size"])
    assert sorted(sizes) == [1, 2, 4, 8]


def test_failed_run_fails_only_its_trial(store: Home) -> None:
    sweep_id = started(store)
    advance(store, sweep_id)
    fail_next(store)
    while advance(store, sweep_id):
        train_next(store, rate_of)
    sweep = SweepRepository(store.database).get(sweep_id)
    assert [trial.status for trial in sweep.trials] == ["failed", "succeeded", "succeeded"]
    assert sweep.trials[0].error == "It is config."
    assert sweep.trials[0].value is None
    assert sweep.status == "succeeded"


def test_sweep_stops_after_repeated_failures(store: Home) -> None:
    sweep_id = started(store, budget={"num_trials": 50})
    while advance(store, sweep_id):
        fail_next(store, "diverged")
    sweep = SweepRepository(store.database).get(sweep_id)
    assert sweep.status == "failed"
    assert len(sweep.trials) == 5
    assert sweep.failure is not None
    assert sweep.failure.detail.startswith("None of the 5 trials succeeded; the first 5 failed.")
    assert "It is diverged." in sweep.failure.detail


def test_invalid_combination_fails_its_trial(store: Home) -> None:
    space = {
        "training.batch_size": {"type": "choice", "values": [2, 4]},
        "training.gradient_accumulation_steps": {"type": "choice", "values": [1, 4]},
    }
    recipe = {**RECIPE, "training": {**RECIPE["training"], "batch_size": 4}}
    sweep_id = started(store, recipe=recipe, search_space=space, sampler="grid", budget={}, max_concurrent=4)
    while advance(store, sweep_id):
        train_next(store, lambda run: 1.0)
    trials = SweepRepository(store.database).get(sweep_id).trials
    assert sorted(trial.status for trial in trials) == ["failed", "succeeded", "succeeded", "succeeded"]
    refused = next(trial for trial in trials if trial.status == "failed")
    assert refused.params == {"training.batch_size": 2, "training.gradient_accumulation_steps": 4}
    assert "cannot be split" in (refused.error or "")


def test_running_trial_is_pruned(store: Home) -> None:
    sweep_id = started(store, pruner="median", prune_after_trials=1, budget={"num_trials": 2})
    advance(store, sweep_id)
    write_losses(store, SweepRepository(store.database).get(sweep_id).trials[0].run_id, [4.0, 3.0, 2.0, 1.0])
    claim = claim_next(store)
    advance(store, sweep_id)
    RunRepository(store.database).finish(claim.lease, "succeeded", "Done.", figures=figures_of(1.0))
    advance(store, sweep_id)
    poor = claim_next(store)
    write_losses(store, poor.run.run_id, [9.0, 9.0])
    assert advance(store, sweep_id)
    trial = SweepRepository(store.database).get(sweep_id).trials[1]
    assert (trial.status, trial.value) == ("pruned", 9.0)
    assert trial.error == "Stopped at 25 % of its training."
    assert RunRepository(store.database).get(poor.run.run_id).status == "cancelling"
    assert SweepRepository(store.database).get(sweep_id).best_run_id == claim.run.run_id
    assert advance(store, sweep_id), "the sweep is active until its last run has stopped"
    RunRepository(store.database).finish(poor.lease, "cancelled", "Stopped.")
    assert not advance(store, sweep_id)


def test_trial_score_comes_from_evaluation(store: Home) -> None:
    keys = {"metric": "score", "eval_set": "eval_v2", "budget": {"num_trials": 2}}
    sweep_id = started(store, **keys)
    advance(store, sweep_id)
    run = train_next(store, rate_of)
    predictions = make_predictions("1110")
    model = make_model("run-0", run_id=run.run_id)
    EvaluationRepository(store.database).add(
        make_evaluation(predictions, name="run-0", model=model, evalset="eval_v2"), predictions
    )
    advance(store, sweep_id)
    train_next(store, rate_of)
    advance(store, sweep_id)
    measured, unmeasured = SweepRepository(store.database).get(sweep_id).trials
    assert (measured.status, measured.value) == ("succeeded", 0.75)
    assert (unmeasured.status, unmeasured.error) == ("failed", "Its run succeeded, but has no score.")
    assert RunRepository(store.database).get(run.run_id).request.eval_set == "eval_v2"


def test_device_minutes_limit_a_sweep(store: Home) -> None:
    sweep_id = started(store, budget={"device_minutes": 30}, max_concurrent=2)
    advance(store, sweep_id)
    train_next(store, rate_of)
    claim_next(store)
    later = datetime.now(UTC) + timedelta(minutes=31)
    assert advance(store, sweep_id, now=datetime.now(UTC) + timedelta(minutes=29))
    assert statuses(store, sweep_id) == ["succeeded", "running", "queued"]
    assert advance(store, sweep_id, now=later)
    runs = {
        run.run_id[-1]: run.status
        for run in RunRepository(store.database).list(RunFilter(), limit=9, offset=0).data
    }
    assert runs == {"0": "succeeded", "1": "cancelling", "2": "cancelled"}


def test_cancelled_sweep_resumes_its_trials(store: Home) -> None:
    sweep_id = started(store, max_concurrent=2)
    advance(store, sweep_id)
    claim = claim_next(store)
    assert cancel(store, sweep_id).status == "cancelling"
    assert advance(store, sweep_id)
    assert RunRepository(store.database).finish(claim.lease, "cancelled", "Stopped.", exit_code=143)
    assert not advance(store, sweep_id)
    assert SweepRepository(store.database).get(sweep_id).status == "cancelled"
    assert statuses(store, sweep_id) == ["cancelled", "cancelled"]

    assert resume(store, sweep_id).status == "running"
    assert statuses(store, sweep_id) == ["queued", "queued"]
    while advance(store, sweep_id):
        train_next(store, rate_of)
    assert SweepRepository(store.database).get(sweep_id).status == "succeeded"
    assert statuses(store, sweep_id) == ["succeeded"] * 3
    assert num_runs(store, sweep_id) == 3


def test_running_sweep_cannot_be_removed(store: Home) -> None:
    sweep_id = started(store)
    advance(store, sweep_id)
    with pytest.raises(ConflictError, match="is running"):
        SweepRepository(store.database).remove(sweep_id)
    cancel(store, sweep_id)
    advance(store, sweep_id)
    SweepRepository(store.database).remove(sweep_id)
    with pytest.raises(NotFoundError, match="There is no sweep"):
        SweepRepository(store.database).get(sweep_id)
    assert num_runs(store, sweep_id) == 1


def test_sweep_moves_to_another_worker(store: Home) -> None:
    sweep_id = started(store)
    WorkerRepository(store.database).register(make_worker("worker-a"))
    WorkerRepository(store.database).register(make_worker("worker-b"))
    advance_all(store, "worker-a")
    advance_all(store, "worker-b")
    assert SweepRepository(store.database).get(sweep_id).worker_id == "worker-a"
    WorkerRepository(store.database).set_status("worker-a", "lost")
    advance_all(store, "worker-b")
    assert SweepRepository(store.database).get(sweep_id).worker_id == "worker-b"
    assert num_runs(store, sweep_id) == 1


def test_invalid_sweep_is_refused_upfront(store: Home) -> None:
    with_rows(store)
    for keys, message in INVALID_SWEEPS:
        with pytest.raises(InvalidInputError, match=message):
            create(store, make_spec(**keys))
    assert SweepRepository(store.database).list(limit=9, offset=0).total == 0
