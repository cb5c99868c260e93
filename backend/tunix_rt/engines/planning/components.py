"""Memory of one step by component, from sizes alone; that of the torch engine is in torch_components.py.

What is stored between steps is counted exactly. What the step makes lives in three phases, and the peak is
the largest of them:

    loss       kept activations, logits of one chunk, gradient of the embedding
    backward   kept activations, gradients of all layers, one layer at work
    update     gradients, the update of the largest matrix in float32

How much of each is alive at one time is the compiler's choice; `calibration.py` holds what was fitted to it.
"""

from tunix_rt.core.plan import Component
from tunix_rt.engines.planning.calibration import CALIBRATIONS, Calibration
from tunix_rt.engines.planning.step_shape import StepShape
from tunix_rt.engines.planning.stored import optimizer_state_bytes, stored_weight_bytes
from tunix_rt.engines.planning.torch_components import estimate_torch_components

Sizes = dict[Component, float]


def estimate_components(step: StepShape) -> dict[Component, int]:
    """Bytes per device by component, at the peak."""
    if step.engine == "torch":
        return estimate_torch_components(step)
    fitted = CALIBRATIONS[step.platform]
    phases = (
        _loss_phase(step, fitted),
        _backward_phase(step, fitted),
        _update_phase(step, fitted),
    )
    peak = max(phases, key=lambda phase: sum(phase.values()))
    undonated = undonated_bytes(step)
    if fitted.reuses_undonated and undonated:
        # The memory of the new state is free until the update writes it.
        left = max(0.0, 1 - undonated / max(1.0, sum(peak.values())))
        peak = {name: size * left for name, size in peak.items()}
    return {
        "weights": int(stored_weight_bytes(step)),
        "optimizer_state": int(optimizer_state_bytes(step)),
        "undonated_copies": int(undonated),
        "gradients": int(peak.get("gradients", 0)),
        "activations": int(peak.get("activations", 0)),
        "logits": int(peak.get("logits", 0)),
        "temporaries": int(peak.get("temporaries", 0)) + fitted.program_bytes,
    }


def undonated_bytes(step: StepShape) -> float:
    """Without donation the new state stands beside the old one."""
    if step.recipe.training.donate_buffers:
        return 0.0
    trained = step.num_trained * (step.weight_bytes if step.is_full else 4) / step.num_weight_parts
    return trained + optimizer_state_bytes(step)


def _loss_phase(step: StepShape, fitted: Calibration) -> Sizes:
    logits = 4.0 * step.scored_tokens * step.architecture.vocab_size / step.mesh.tensor
    embedding = step.num_head / step.num_weight_parts
    return {
        "gradients": 4 * embedding * step.is_full,
        "activations": _kept(step, fitted),
        "logits": fitted.logits * logits,
        "temporaries": _cast_layers(step, fitted) + step.compute_bytes * embedding * step.is_cast,
    }


def _backward_phase(step: StepShape, fitted: Calibration) -> Sizes:
    at_work = fitted.layer_at_work * _one_layer(step)
    if fitted.is_unrolled:
        # Activations are freed layer by layer; at the end the layers' gradients are copied into stacks.
        own = step.compute_bytes * step.num_layer_matrices / step.num_weight_parts
        stacks = fitted.stacked_gradients * own * step.is_full
        return {"gradients": _gradients(step, fitted) + stacks, "activations": at_work}
    return {
        "gradients": _gradients(step, fitted),
        "activations": _kept(step, fitted) + at_work,
        "temporaries": _cast_layers(step, fitted) + _gathered(step, fitted),
    }


def _update_phase(step: StepShape, fitted: Calibration) -> Sizes:
    sizes: Sizes = {"gradients": _gradients(step, fitted)}
    if step.is_full and step.recipe.training.optimizer.name == "adafactor":
        sizes["temporaries"] = 4 * _copied_by_adafactor(step, fitted) / step.num_weight_parts
    return sizes


def _copied_by_adafactor(step: StepShape, fitted: Calibration) -> float:
    """Weights whose update exists in float32 at one time.

    AdamW's update is one pass over a matrix. Adafactor's needs its sums first, and a copy meanwhile; with
    several devices the sums of all matrices travel together, so all of them are copied.
    """
    if step.mesh.num_devices > 1:
        return fitted.updated_together * step.num_trained
    return fitted.updated_at_once * step.num_largest_matrix


def _gradients(step: StepShape, fitted: Calibration) -> float:
    """Of all layers at once, since the scan stacks them; summed in float32 over the parts of a batch."""
    if not step.is_full:
        return 4.0 * step.num_trained / step.num_weight_parts
    embedding = (step.weight_bytes + 4 * step.is_summed) * step.num_embedding
    return _layer_gradients(step, fitted) + embedding / step.num_weight_parts


def _layer_gradients(step: StepShape, fitted: Calibration) -> float:
    # On a TPU a loop over the parts holds its old and its new sums at the same time; on a GPU, seen with a
    # prototype only, they are added in place.
    size = step.compute_bytes + (1 if fitted.is_unrolled else 2) * 4 * step.is_summed
    return size * step.num_layer_matrices / step.num_weight_parts


def _kept(step: StepShape, fitted: Calibration) -> float:
    """What all layers keep for the backward pass."""
    layers, values = step.architecture.num_layers, step.architecture.hidden_size * step.tokens
    inputs = layers * values * step.compute_bytes
    if step.recipe.training.remat == "block":
        return inputs
    if step.recipe.training.remat == "dots":
        outputs = fitted.kept_by_dots if step.is_full else fitted.kept_by_dots_with_adapters
        return inputs + layers * outputs * _products(step)
    outputs = fitted.kept_by_none * (_products(step) + _scores(step))
    return inputs + layers * (outputs + fitted.kept_by_none_per_value * values)


def _one_layer(step: StepShape) -> float:
    """Everything that one layer makes on its way."""
    return _products(step) + _scores(step)


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


def _cast_layers(step: StepShape, fitted: Calibration) -> float:
    """The copy of the layers' matrices that computes, where they are stored in another format."""
    if not step.is_full or not step.is_cast:
        return 0.0
    return fitted.cast_layers * step.compute_bytes * step.num_layer_matrices / step.num_weight_parts


def _gathered(step: StepShape, fitted: Calibration) -> float:
    """Layers whose weights are collected from the other devices at one time."""
    if step.mesh.fsdp == 1:
        return 0.0
    layer = step.architecture.num_matrix_parameters_per_layer
    return fitted.gathered_layers * step.compute_bytes * layer / step.mesh.tensor
