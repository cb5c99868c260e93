"""Coefficients of the component model, per platform."""

from dataclasses import dataclass

from tunix_rt.core.targets import Platform


@dataclass(frozen=True)
class Calibration:
    """How many of each thing live at the same time in a compiled step."""

    gradients: float
    layer_at_work: float
    kept_by_dots: float
    kept_by_none: float
    logits: float
    cast_weights: float
    gathered_layers: float
    program_bytes: int


_ALL = Calibration(
    gradients=1.0,
    layer_at_work=2.0,
    kept_by_dots=1.0,
    kept_by_none=1.5,
    logits=2.0,
    cast_weights=1.0,
    gathered_layers=2.0,
    program_bytes=200 * 1024**2,
)

CALIBRATIONS: dict[Platform, Calibration] = {"cpu": _ALL, "gpu": _ALL, "tpu": _ALL}
