"""Sweeps for tests: complete ones, of which a test says only what it is about."""

from datetime import UTC, datetime
from typing import Any

from tunix_rt.core.sweeps.spec import SweepSpec
from tunix_rt.core.sweeps.sweep import Sweep

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LEARNING_RATE: dict[str, Any] = {"type": "loguniform", "min": 1e-4, "max": 1e-2}
RECIPE: dict[str, Any] = {
    "model": {"name": "tiny-llama", "weights": "random", "tokenizer": "tiny"},
    "data": {"dataset": "demo-arithmetic-v1", "row_length": 64},
    "training": {
        "num_steps": 4,
        "batch_size": 2,
        "learning_rate": 1e-3,
        "schedule": "constant",
        "precision": {"compute": "float32"},
    },
}


def make_spec(**keys: Any) -> SweepSpec:
    """A valid search for a learning rate by the loss, three trials one after the other."""
    values: dict[str, Any] = {
        "name": "rates",
        "recipe": RECIPE,
        "search_space": {"training.learning_rate": LEARNING_RATE},
        "metric": "loss",
        "budget": {"num_trials": 3},
    }
    return SweepSpec.model_validate(values | keys)


def make_sweep(sweep_id: str = "rates-0", **keys: Any) -> Sweep:
    """The same as a new row of the store."""
    spec = make_spec(**keys)
    return Sweep(
        sweep_id=sweep_id, name=spec.name, status="queued", spec=spec, recipe=RECIPE, created_at=NOON
    )
