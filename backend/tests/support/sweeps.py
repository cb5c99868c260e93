"""Builders of sweeps, and functions that act as their worker."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from support.datasets import build, sums
from tunix_rt.base.home import Home
from tunix_rt.engines.training.types import RunFailure, RunFigures
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.types import Claim, RunDetail, Slot
from tunix_rt.sweeps.create import create
from tunix_rt.sweeps.service import start
from tunix_rt.sweeps.store import SweepRepository
from tunix_rt.sweeps.types import Sweep, SweepSpec

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LEARNING_RATE: dict[str, Any] = {"type": "loguniform", "min": 1e-4, "max": 1e-2}
RECIPE: dict[str, Any] = {
    "model": {"name": "tiny-llama", "weights": "random", "tokenizer": "tiny"},
    "data": {"dataset": "demo-v1", "row_length": 64},
    "training": {
        "num_steps": 4,
        "batch_size": 2,
        "learning_rate": 1e-3,
        "schedule": "constant",
        "precision": {"compute": "float32"},
        "remat": "none",
        "loss_chunk_tokens": None,
    },
}


def make_spec(**keys: Any) -> SweepSpec:
    """Return a valid spec: search the learning rate by loss in three sequential trials."""
    values: dict[str, Any] = {
        "name": "rates",
        "recipe": RECIPE,
        "search_space": {"training.learning_rate": LEARNING_RATE},
        "metric": "loss",
        "budget": {"num_trials": 3},
    }
    return SweepSpec.model_validate(values | keys)


def make_sweep(sweep_id: str = "rates-0", **keys: Any) -> Sweep:
    """Return a queued sweep."""
    spec = make_spec(**keys)
    return Sweep(
        sweep_id=sweep_id, name=spec.name, status="queued", spec=spec, recipe=RECIPE, created_at=NOON
    )


def started(store: Home, **keys: Any) -> str:
    """Start a sweep over a dataset of eight rows and return its id."""
    with_rows(store)
    sweep_id = create(store, make_spec(**keys)).sweep_id
    start(store, sweep_id)
    return sweep_id


def with_rows(store: Home) -> None:
    """Build the dataset of the recipe: small, so that planning a trial is fast."""
    build(store.settings.home_dir, sums(8))


def claim_next(store: Home) -> Claim:
    """Claim the next run."""
    claim = RunRepository(store.database).claim("worker-a", (Slot(),))
    assert claim is not None
    return claim


def train_next(store: Home, value: Callable[[RunDetail], float]) -> RunDetail:
    """Claim the next run and finish it with the loss that `value` returns."""
    claim = claim_next(store)
    figures = figures_of(value(claim.run))
    assert RunRepository(store.database).finish(
        claim.lease, "succeeded", "Done.", exit_code=0, figures=figures
    )
    return claim.run


def figures_of(loss: float) -> RunFigures:
    """Return the final figures of a run."""
    return RunFigures(
        num_steps=4,
        num_planned_steps=4,
        num_examples=8,
        num_dropped_examples=0,
        fill_ratio=1.0,
        final_loss=loss,
    )


def fail_next(store: Home, code: str = "config") -> RunDetail:
    """Claim the next run and fail it."""
    claim = claim_next(store)
    failure = RunFailure(code=code, detail=f"It is {code}.", next_step="Fix it.")
    assert RunRepository(store.database).finish(
        claim.lease, "failed", "Failed.", exit_code=2, failure=failure
    )
    return claim.run


def rate_of(run: RunDetail) -> float:
    """Return the learning rate of a run."""
    training: Any = run.recipe["training"]
    return float(training["learning_rate"])


def statuses(store: Home, sweep_id: str) -> list[str]:
    """Return the statuses of the trials, in order."""
    return [trial.status for trial in SweepRepository(store.database).get(sweep_id).trials]
