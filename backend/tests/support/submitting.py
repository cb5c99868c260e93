"""Requests for the smallest run, and its dataset."""

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
    """Build the dataset of the recipe."""
    build(settings.home_dir, sums(4))


def small_request(**values: Any) -> RunRequest:
    """Return a request for a run of two steps on the CPU."""
    return RunRequest.model_validate({"recipe": SMALL_RECIPE, "name": "small", "device": "cpu"} | values)
