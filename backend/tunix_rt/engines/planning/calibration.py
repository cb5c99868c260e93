"""Coefficients of the component model, per platform."""

from dataclasses import dataclass, replace

from tunix_rt.core.targets import Platform


@dataclass(frozen=True)
class Calibration:
    """How many of each thing live at the same time in a compiled step."""

    logits: float
    """Tables of float32 logits: the logits, their gradient."""
    layer_at_work: float
    """Outputs of all matrices of one layer, forward and backward."""
    kept_by_dots: float
    """Share of a layer's outputs that `remat: dots` keeps."""
    kept_by_none: float
    """The same without remat; more than 1, since inputs of functions are kept too."""
    cast_layers: float
    """Copies of the layers' matrices in the compute format."""
    gathered_layers: float
    """Layers whose weights are collected at one time under FSDP."""
    updated_at_once: float
    """Float32 copies of the largest matrix while Adafactor updates it."""
    program_bytes: int
    reuses_undonated: bool
    """Whether memory of a new state serves as temporary memory before it is written."""


_ALL = Calibration(
    logits=1.5,
    layer_at_work=2.0,
    kept_by_dots=1.0,
    kept_by_none=1.5,
    cast_layers=1.0,
    gathered_layers=2.0,
    updated_at_once=0.75,
    program_bytes=64 * 1024**2,
    reuses_undonated=True,
)

CALIBRATIONS: dict[Platform, Calibration] = {"cpu": replace(_ALL, program_bytes=0), "gpu": _ALL, "tpu": _ALL}
