"""Memory by component, calibrated per platform and engine.

State that is stored between steps is counted exactly. The memory of the step itself depends on its phase, and
the estimate is the largest phase. JAX engine:

    loss       saved activations, logits of one chunk, gradient of the embedding
    backward   saved activations, gradients of all layers, one active layer
    update     gradients, the update of the largest matrix in float32

How much of each is alive at a time is the compiler's choice. `CALIBRATIONS` was fitted to
`benchmarks/results/compiled_steps.json` for TPUs and `benchmarks/results/measured_steps.json` for GPUs; CPUs
run the same program as TPUs.

Torch engine, which in full mode also stores a copy of the layers' matrices in the compute format:

    loss       saved activations, logits of one chunk, gradient of the head and its copy in the compute format
    turn       saved activations, gradient of the head, the last layer active
    end        gradients of all weights, the first layer active, a second gradient of a tied embedding
    update     gradients, copies of everything that is not float32

`python -m benchmarks.fit_torch_plan` fits torch_calibration.json to a grid of measured steps. Memory that
torch's allocator caches while there is room is not counted, nor is the CUDA context: it belongs to the share
that a target leaves to the driver.
"""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from tunix_rt.engines.planning.kernels import TAKING_BORDERS
from tunix_rt.engines.planning.step import NUM_BYTES, StepShape, optimizer_state_bytes, stored_weight_bytes
from tunix_rt.engines.planning.targets import LOCAL, Target
from tunix_rt.engines.planning.types import Component
from tunix_rt.engines.types import Platform


@dataclass(frozen=True)
class Calibration:
    """How many of each are alive at the same time in a compiled step."""

    logits: float
    """Tables of float32 logits: the logits, and a part of their gradient."""
    layer_at_work: float
    """Outputs of all matrices of one layer, forward and backward."""
    kept_by_dots: float
    """Saved by a layer under `remat: dots`, in outputs of its seven matrices."""
    kept_by_dots_with_adapters: float
    """The same in LoRA modes, which also save the inputs of the adapters."""
    kept_by_none: float
    """The same without remat."""
    kept_by_none_per_value: float
    """Additional bytes per value of a hidden state that a layer without remat saves: norms are float32."""
    cast_layers: float
    """Copies of the layers' matrices in the compute format."""
    gathered_layers: float
    """Layers whose weights are gathered at a time under FSDP."""
    updated_at_once: float
    """Float32 copies of the largest matrix while Adafactor updates it."""
    updated_together: float
    """Float32 copies of all trained weights while Adafactor updates them on several devices."""
    program_bytes: int
    reuses_undonated: bool
    """Whether the memory of the new state serves as temporary memory until it is written."""
    is_unrolled: bool = False
    """Whether layers are unrolled, not a loop."""
    stacked_gradients: float = 0.0
    """Copies of the layers' gradients when unrolled layers return them as stacks."""


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

FILE = Path(__file__).with_name("torch_calibration.json")


class TorchCoefficients(BaseModel):
    """How many of each are alive at the same time in a step of torch."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
    logits: float
    """Tables of float32 logits of one chunk: the logits, copies in the compute format, temporaries."""
    layer_at_work: float
    """Outputs of all matrices of one layer, forward and backward."""
    layer_at_work_per_value: float
    """Additional bytes per value of a hidden state: norms are float32."""
    kept_by_dots: float
    """Saved by a layer under `remat: dots`, in outputs of its seven matrices."""
    kept_by_none: float
    """The same without remat."""
    kept_by_none_per_value: float
    """Additional bytes per value of a hidden state that a layer without remat saves."""
    kept_compiled_by_dots: float
    """Saved by a compiled layer under `remat: dots`, in outputs of its seven matrices."""
    kept_compiled_by_adapter_dots: float
    """The same with adapters."""
    kept_compiled_by_none: float
    """The same without remat."""
    updated_at_once: float
    """Float32 copies of the largest tensor while Adafactor updates it."""


class TorchCalibration(BaseModel):
    """Coefficients and their source."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
    source: str
    """The measurements, or the assumption."""
    measured_on: str | None
    """The measured target; None if nothing was measured."""
    coefficients: TorchCoefficients


@cache
def torch_calibration() -> TorchCalibration:
    """The calibration in torch_calibration.json."""
    return TorchCalibration.model_validate_json(FILE.read_bytes())


def fitted_note(target: Target) -> str:
    """Whether the figures of a target rest on measured runs."""
    calibration = torch_calibration()
    if target.name in (calibration.measured_on, LOCAL, "cpu"):
        return f"The component model of the torch engine: {calibration.source}."
    return f"A prediction: no run on {target.name} was measured. The component model: {calibration.source}."


Sizes = dict[Component, float]

_UPDATED_NUMBERS = 1 << 26
"""Numbers that AdamW updates at a time, in engines/torch/training/optimizer.py."""
_WORKSPACE_BYTES = 64 * 1024**2
"""The workspace that cuBLAS allocates."""


def estimate_components(step: StepShape) -> dict[Component, int]:
    """Bytes per device by component, at the peak."""
    return estimate_torch_components(step) if step.engine == "torch" else _estimate_jax_components(step)


def estimate_torch_components(
    step: StepShape, coefficients: TorchCoefficients | None = None
) -> dict[Component, int]:
    """Bytes per device by component, at the peak of a step of the torch engine."""
    fitted = coefficients or torch_calibration().coefficients
    architecture, gradients, masks = step.architecture, _torch_gradients(step), _masks(step)
    saved, active_layer = _torch_saved(step, fitted), _active_layer(step, fitted)
    # Summed in float32 over the chunks.
    head_gradient = 4.0 * step.num_head * step.is_full
    # The slope of a soft cap on the logits is a table of its own.
    tables = fitted.logits + (architecture.final_softcap is not None)
    loss: Sizes = {
        "gradients": head_gradient + step.compute_bytes * step.tokens * architecture.hidden_size,
        "activations": saved + masks,
        "logits": tables * 4 * step.scored_tokens * architecture.vocab_size,
        "temporaries": float(step.compute_bytes * step.num_head * step.is_cast),
    }
    turn: Sizes = {"gradients": head_gradient, "activations": saved + masks + active_layer}
    end: Sizes = {
        "gradients": gradients + step.weight_bytes * step.num_head * step.is_full,
        "activations": masks + active_layer,
    }
    update: Sizes = {"gradients": gradients, "temporaries": _torch_updated(step, fitted)}
    permanent = _WORKSPACE_BYTES * (step.platform == "gpu")
    if step.mesh.fsdp > 1:
        # Embedding and head are gathered for the whole step, and two layers: the active one and the next.
        layers = 2 * architecture.num_matrix_parameters_per_layer
        permanent += step.compute_bytes * (step.num_embedding + layers)
    elif step.is_full and step.is_cast:
        permanent += step.compute_bytes * step.num_layer_matrices
    return _components(step, _largest(loss, turn, end, update), permanent)


def _largest(*phases: Sizes) -> Sizes:
    return max(phases, key=lambda sizes: sum(sizes.values()))


def _components(step: StepShape, peak: Sizes, permanent: int, undonated: float = 0.0) -> dict[Component, int]:
    """The stored state and the largest phase; `permanent` are the temporaries of every phase."""
    return {
        "weights": int(stored_weight_bytes(step)),
        "optimizer_state": int(optimizer_state_bytes(step)),
        "undonated_copies": int(undonated),
        "gradients": int(peak.get("gradients", 0)),
        "activations": int(peak.get("activations", 0)),
        "logits": int(peak.get("logits", 0)),
        "temporaries": int(peak.get("temporaries", 0)) + permanent,
    }


def _torch_gradients(step: StepShape) -> float:
    """Each in the format of its parameter; summed in float32 over gradient accumulation."""
    if not step.is_full:
        return 4.0 * step.num_trained / step.num_weight_parts
    # Matrices are working copies, or under FSDP the stored weights.
    matrix_bytes = step.weight_bytes if step.mesh.fsdp > 1 else step.compute_bytes
    layers = (4 if step.is_summed else matrix_bytes) * step.num_layer_matrices
    return (layers + step.weight_bytes * step.num_embedding) / step.num_weight_parts


def _torch_updated(step: StepShape, fitted: TorchCoefficients) -> float:
    """The float32 copies of what the optimizer updates at a time."""
    training, lora = step.recipe.training, step.recipe.lora
    if training.optimizer.name == "adafactor":
        # Layers are not stacked here.
        matrices = step.architecture.matrix_shapes.values()
        largest = step.num_head if lora is None else lora.rank * max(map(max, matrices))
        return fitted.updated_at_once * 4 * largest / step.num_weight_parts
    formats = [NUM_BYTES[training.precision.optimizer_state]] * 2
    if step.is_full:
        formats += [step.weight_bytes, 4 if step.is_summed else step.compute_bytes]
    num_copies = sum(size != 4 for size in formats)
    return 4.0 * num_copies * min(_UPDATED_NUMBERS, step.num_trained)


def _torch_saved(step: StepShape, fitted: TorchCoefficients) -> float:
    """The activations that all layers save for the backward pass."""
    recipe, layers = step.recipe, step.architecture.num_layers
    values = step.architecture.hidden_size * step.tokens
    inputs = layers * values * step.compute_bytes
    if recipe.training.remat == "block":
        return inputs
    is_dots = recipe.training.remat == "dots"
    if step.is_compiled:
        # For adapters, `dots` saves more (`saved_share` in kernels.py).
        dots = fitted.kept_compiled_by_dots if step.is_full else fitted.kept_compiled_by_adapter_dots
        share = dots if is_dots else fitted.kept_compiled_by_none
        return inputs + layers * (share * _products(step) + _scores(step) * (not is_dots))
    if is_dots:
        # Adapters have outputs of their own; products of quantised matrices are not recognised.
        num_copies = (recipe.quantization is None) + (recipe.lora is not None)
        return inputs + layers * fitted.kept_by_dots * num_copies * _products(step)
    outputs = fitted.kept_by_none * _products(step) + _scores(step)
    return inputs + layers * (outputs + fitted.kept_by_none_per_value * values)


def _active_layer(step: StepShape, fitted: TorchCoefficients) -> float:
    """All intermediates of one layer, recomputed forward and backward, and the inputs of its adapters."""
    values = step.architecture.hidden_size * step.tokens
    size = fitted.layer_at_work * _products(step) + fitted.layer_at_work_per_value * values
    targets = () if step.recipe.lora is None else step.recipe.lora.targets
    widths = sum(step.architecture.matrix_shapes[target][0] for target in targets)
    return size + 2 * _scores(step) + float(step.compute_bytes * step.tokens * widths)


def _products(step: StepShape) -> float:
    """Outputs of the seven matrices."""
    outputs = sum(num_outputs for _, num_outputs in step.architecture.matrix_shapes.values())
    return step.compute_bytes * step.tokens * outputs / step.mesh.tensor


def _scores(step: StepShape) -> float:
    """[rows, heads, T, T] in float32, which only the dense kernel materialises."""
    if step.attention.kernel != "dense":
        return 0.0
    length = step.recipe.data.row_length
    return 4.0 * step.rows * step.architecture.num_heads * length * length / step.mesh.tensor


def _masks(step: StepShape) -> float:
    """[rows, 1, T, T]: one byte per kind of layer, and the additive mask that a fused kernel derives."""
    if step.attention.kernel in TAKING_BORDERS:
        return 0.0
    kinds = len({window is None for window in step.architecture.layer_windows})
    return float((kinds + step.compute_bytes) * step.rows * step.recipe.data.row_length**2)


def _estimate_jax_components(step: StepShape) -> dict[Component, int]:
    fitted, parts = CALIBRATIONS[step.platform], step.num_weight_parts
    gradients, saved, cast = _jax_gradients(step, fitted), _jax_saved(step, fitted), 0.0
    if step.is_full and step.is_cast:
        cast = fitted.cast_layers * step.compute_bytes * step.num_layer_matrices / parts
    embedding = step.num_head / parts
    logits = 4.0 * step.scored_tokens * step.architecture.vocab_size / step.mesh.tensor
    loss: Sizes = {
        "gradients": 4 * embedding * step.is_full,
        "activations": saved,
        "logits": fitted.logits * logits,
        "temporaries": cast + step.compute_bytes * embedding * step.is_cast,
    }
    active_layer = fitted.layer_at_work * (_products(step) + _scores(step))
    if fitted.is_unrolled:
        # Activations are freed layer by layer; at the end the layers' gradients are copied into stacks.
        own = step.compute_bytes * step.num_layer_matrices / parts
        stacks = fitted.stacked_gradients * own * step.is_full
        backward: Sizes = {"gradients": gradients + stacks, "activations": active_layer}
    else:
        layer = step.architecture.num_matrix_parameters_per_layer * (step.mesh.fsdp > 1)
        gathered = fitted.gathered_layers * step.compute_bytes * layer / step.mesh.tensor
        backward = {
            "gradients": gradients,
            "activations": saved + active_layer,
            "temporaries": cast + gathered,
        }
    update: Sizes = {"gradients": gradients}
    if step.is_full and step.recipe.training.optimizer.name == "adafactor":
        # AdamW's update is one pass over a matrix. Adafactor's needs its sums first, and a copy meanwhile;
        # with several devices the sums of all matrices travel together, so all of them are copied.
        largest = fitted.updated_at_once * step.num_largest_matrix
        together = fitted.updated_together * step.num_trained
        update["temporaries"] = 4 * (together if step.mesh.num_devices > 1 else largest) / parts
    peak = _largest(loss, backward, update)
    undonated = undonated_bytes(step)
    if fitted.reuses_undonated and undonated:
        # The memory of the new state is free until the update.
        left = max(0.0, 1 - undonated / max(1.0, sum(peak.values())))
        peak = {name: size * left for name, size in peak.items()}
    return _components(step, peak, fitted.program_bytes, undonated)


def undonated_bytes(step: StepShape) -> float:
    """Without donation, the new state exists along with the old one."""
    if step.recipe.training.donate_buffers:
        return 0.0
    trained = step.num_trained * (step.weight_bytes if step.is_full else 4) / step.num_weight_parts
    return trained + optimizer_state_bytes(step)


def _jax_gradients(step: StepShape, fitted: Calibration) -> float:
    """Gradients of all layers, as the scan stacks them; summed in float32 over gradient accumulation."""
    if not step.is_full:
        return 4.0 * step.num_trained / step.num_weight_parts
    # On a TPU, the accumulation loop holds its old and its new sums at the same time. On a GPU they are added
    # in place, which was seen only with a prototype.
    matrix_bytes = step.compute_bytes + (1 if fitted.is_unrolled else 2) * 4 * step.is_summed
    layers = matrix_bytes * step.num_layer_matrices / step.num_weight_parts
    embedding = (step.weight_bytes + 4 * step.is_summed) * step.num_embedding
    return layers + embedding / step.num_weight_parts


def _jax_saved(step: StepShape, fitted: Calibration) -> float:
    """The activations that all layers save for the backward pass."""
    layers, values = step.architecture.num_layers, step.architecture.hidden_size * step.tokens
    inputs = layers * values * step.compute_bytes
    if step.recipe.training.remat == "block":
        return inputs
    if step.recipe.training.remat == "dots":
        outputs = fitted.kept_by_dots if step.is_full else fitted.kept_by_dots_with_adapters
        return inputs + layers * outputs * _products(step)
    outputs = fitted.kept_by_none * (_products(step) + _scores(step))
    return inputs + layers * (outputs + fitted.kept_by_none_per_value * values)
