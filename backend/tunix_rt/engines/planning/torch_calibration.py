"""Coefficients of the torch engine's component model, from `torch_calibration.json`.

`python -m benchmarks.fit_torch_plan` writes the file from a grid of measured steps.
"""

from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from tunix_rt.core.targets import LOCAL, Target

FILE = Path(__file__).with_name("torch_calibration.json")


class TorchCoefficients(BaseModel):
    """How many of each thing live at the same time in a step of torch."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
    logits: float
    """Tables of float32 logits of one chunk: the logits, copies in the compute format, temporaries."""
    layer_at_work: float
    """Outputs of all matrices of one layer, forward and backward."""
    layer_at_work_per_value: float
    """Bytes for each value of a hidden state beside them: norms are float32."""
    kept_by_dots: float
    """What a layer keeps under `remat: dots`, in outputs of its seven matrices."""
    kept_by_none: float
    """The same without remat."""
    kept_by_none_per_value: float
    """Bytes for each value of a hidden state that a layer without remat keeps beside."""
    kept_compiled_by_dots: float
    """What a compiled layer keeps under `remat: dots`, in outputs of its seven matrices."""
    kept_compiled_by_adapter_dots: float
    """The same with adapters."""
    kept_compiled_by_none: float
    """The same without remat."""
    updated_at_once: float
    """Float32 copies of the largest tensor while Adafactor updates it."""


class TorchCalibration(BaseModel):
    """Coefficients, and where they come from."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
    source: str
    """The measurements, or what was assumed."""
    measured_on: str | None
    """The target that was measured. None: nothing was."""
    coefficients: TorchCoefficients


@cache
def torch_calibration() -> TorchCalibration:
    """What the planner uses."""
    return TorchCalibration.model_validate_json(FILE.read_bytes())


def fitted_note(target: Target) -> str:
    """Whether the figures for a target rest on runs of it."""
    calibration = torch_calibration()
    if target.name in (calibration.measured_on, LOCAL, "cpu"):
        return f"The component model of the torch engine: {calibration.source}."
    return f"A prediction: no run on {target.name} was measured. The component model: {calibration.source}."
