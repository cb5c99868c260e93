"""Coefficients of the component model, per platform.

TPU: fitted to `benchmarks/results/compiled_steps.json`. GPU: to `benchmarks/results/measured_steps.json`.
CPU: those of the TPU, whose program it shares.
"""

from dataclasses import dataclass, replace

from tunix_rt.core.targets import Platform


@dataclass(frozen=True)
class Calibration:
    """How many of each thing live at the same time in a compiled step."""

    logits: float
    """Tables of float32 logits: the logits, and a part of their gradient."""
    layer_at_work: float
    """Outputs of all matrices of one layer, forward and backward."""
    kept_by_dots: float
    """What a layer keeps under `remat: dots`, in outputs of its seven matrices."""
    kept_by_dots_with_adapters: float
    """The same in LoRA modes, which keep the inputs of the adapters too."""
    kept_by_none: float
    """The same without remat."""
    kept_by_none_per_value: float
    """Bytes for each value of a hidden state that a layer without remat keeps beside: norms are float32."""
    cast_layers: float
    """Copies of the layers' matrices in the compute format."""
    gathered_layers: float
    """Layers whose weights are collected at one time under FSDP."""
    updated_at_once: float
    """Float32 copies of the largest matrix while Adafactor updates it."""
    updated_together: float
    """Float32 copies of all trained weights while Adafactor updates them on several devices."""
    program_bytes: int
    reuses_undonated: bool
    """Whether memory of a new state serves as temporary memory before it is written."""
    is_unrolled: bool = False
    """Whether layers are one straight text, not a loop."""
    stacked_gradients: float = 0.0
    """Copies of the layers' gradients when unrolled layers give them back as stacks."""


_TPU = Calibration(
    logits=1.25,
    layer_at_work=3.0,
    kept_by_dots=1.14,  # this and the next: from a GPU
    kept_by_dots_with_adapters=1.87,
    kept_by_none=1.5,
    kept_by_none_per_value=40.0,
    cast_layers=1.0,
    gathered_layers=5.3,
    updated_at_once=0.75,
    updated_together=1.0,
    program_bytes=64 * 1024**2,
    reuses_undonated=True,
)
_GPU = replace(
    _TPU,
    layer_at_work=1.1,
    cast_layers=0.0,
    is_unrolled=True,
    stacked_gradients=0.93,
)

CALIBRATIONS: dict[Platform, Calibration] = {"cpu": replace(_TPU, program_bytes=0), "gpu": _GPU, "tpu": _TPU}
