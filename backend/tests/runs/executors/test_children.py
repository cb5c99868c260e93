"""The environment of a child process."""

import pytest

from tunix_rt.runs.executors.base import slot_environment
from tunix_rt.runs.types import parse_slot


@pytest.mark.parametrize(
    ("slot", "visible", "expected"),
    [
        ("auto", None, {}),
        ("gpu", None, {}),
        ("tpu", None, {}),
        ("cpu", None, {"CUDA_VISIBLE_DEVICES": ""}),
        ("gpu:1", None, {"CUDA_VISIBLE_DEVICES": "1"}),
        ("gpu:1", "4,5", {"CUDA_VISIBLE_DEVICES": "5"}),
        ("gpu:0", "GPU-aaaa,GPU-bbbb", {"CUDA_VISIBLE_DEVICES": "GPU-aaaa"}),
    ],
)
def test_slot_sets_visible_devices(slot: str, visible: str | None, expected: dict[str, str]) -> None:
    environ = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert slot_environment(parse_slot(slot), environ) == expected
