"""Requests of the smallest run, and what they need in the home."""

from typing import Any

from support.datasets import build, sums
from tunix_rt.base.settings import Settings
from tunix_rt.runs.types import RunRequest

SMALL_RECIPE: dict[str, Any] = {
    "model": {"name": "tiny-llama", "weights": "random"},
    "data": {"dataset": "demo-v1", "row_length": 64},
    "training": {"num_steps": 2, "batch_size": 2},
}


def build_demo(settings: Settings) -> None:
    """The dataset that the recipe names."""
    build(settings.home_dir, sums(4))


def small_request(**values: Any) -> RunRequest:
    """A run of two steps on the CPU."""
    return RunRequest.model_validate({"recipe": SMALL_RECIPE, "name": "small", "device": "cpu"} | values)
