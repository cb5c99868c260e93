"""Memory of one step of the torch engine by component, from sizes alone.

Between steps: weights, optimizer state, and in full mode a copy of the layers' matrices that computes.
The step makes the rest, operation by operation, and the peak is the largest of four moments:

    loss       kept activations, logits of one chunk, gradient of the head and a copy that computes
    turn       kept activations, gradient of the head, the last layer at work
    end        gradients of all weights, the first layer at work, a second gradient of a tied embedding
    update     gradients, copies of what is not float32

What torch's allocator holds beyond that while there is room is not counted, nor is the context of CUDA: it
lies in the share of the memory that a target leaves to the driver.
"""

from tunix_rt.core.plan import Component
from tunix_rt.engines.planning.step_shape import NUM_BYTES, StepShape
from tunix_rt.engines.planning.stored import optimizer_state_bytes, stored_weight_bytes
from tunix_rt.engines.planning.torch_calibration import TorchCoefficients, torch_calibration
from tunix_rt.engines.torch_kernels import TAKING_BORDERS

Sizes = dict[Component, float]

_UPDATED_NUMBERS = 1 << 26
"""Numbers that AdamW updates at one time: engines/torch/optimizer.py."""
_WORKSPACE_BYTES = 64 * 1024**2
"""What cuBLAS asks of torch's allocator."""


def estimate_torch_components(
    step: StepShape, coefficients: TorchCoefficients | None = None
) -> dict[Component, int]:
    """Bytes per device by component, at the peak."""
    fitted = coefficients or torch_calibration().coefficients
    moments = (_loss(step, fitted), _turn(step, fitted), _end(step, fitted), _update(step, fitted))
    peak = max(moments, key=lambda sizes: sum(sizes.values()))
    workspace = _WORKSPACE_BYTES * (step.platform == "gpu")
    return {
        "weights": int(stored_weight_bytes(step)),
        "optimizer_state": int(optimizer_state_bytes(step)),
        "undonated_copies": 0,
        "gradients": int(peak.get("gradients", 0)),
        "activations": int(peak.get("activations", 0)),
        "logits": int(peak.get("logits", 0)),
        "temporaries": int(peak.get("temporaries", 0) + _working_copy(step) + _gathered(step) + workspace),
    }


def _loss(step: StepShape, fitted: TorchCoefficients) -> Sizes:
    has_cap = step.architecture.final_softcap is not None
    tables = fitted.logits + has_cap  # the slope of the cap is a table of its own
    return {
        "gradients": _head_gradient(step) + step.compute_bytes * step.tokens * step.architecture.hidden_size,
        "activations": _kept(step, fitted) + _masks(step),
        "logits": tables * 4 * step.scored_tokens * step.architecture.vocab_size,
        "temporaries": float(step.compute_bytes * step.num_head * step.is_cast),
    }


def _turn(step: StepShape, fitted: TorchCoefficients) -> Sizes:
    return {
        "gradients": _head_gradient(step),
        "activations": _kept(step, fitted) + _masks(step) + _at_work(step, fitted),
    }


def _end(step: StepShape, fitted: TorchCoefficients) -> Sizes:
    looked_up = step.weight_bytes * step.num_head * step.is_full
    return {
        "gradients": _gradients(step) + looked_up,
        "activations": _masks(step) + _at_work(step, fitted),
    }


def _update(step: StepShape, fitted: TorchCoefficients) -> Sizes:
    return {"gradients": _gradients(step), "temporaries": _updated(step, fitted)}


def _updated(step: StepShape, fitted: TorchCoefficients) -> float:
    training = step.recipe.training
    if training.optimizer.name == "adafactor":
        return fitted.updated_at_once * 4 * _largest_tensor(step) / step.num_weight_parts
    formats = [NUM_BYTES[training.precision.optimizer_state]] * 2
    if step.is_full:
        formats += [step.weight_bytes, 4 if step.is_summed else step.compute_bytes]
    num_copies = sum(size != 4 for size in formats)
    return 4.0 * num_copies * min(_UPDATED_NUMBERS, step.num_trained)


def _largest_tensor(step: StepShape) -> int:
    """Numbers of the largest trained tensor; layers are not stacked here."""
    if step.is_full:
        return step.num_head
    assert step.recipe.lora is not None
    return step.recipe.lora.rank * max(max(shape) for shape in step.architecture.matrix_shapes.values())


def _head_gradient(step: StepShape) -> float:
    """Summed in float32 over the chunks."""
    return 4.0 * step.num_head * step.is_full


def _gradients(step: StepShape) -> float:
    """Each in the format of its parameter; summed in float32 over the parts of a batch."""
    if not step.is_full:
        return 4.0 * step.num_trained / step.num_weight_parts
    layers = (4 if step.is_summed else _parameter_bytes(step)) * step.num_layer_matrices
    return (layers + step.weight_bytes * step.num_embedding) / step.num_weight_parts


def _parameter_bytes(step: StepShape) -> int:
    """Of the layers' matrices as they get gradients: working copies, or shared ones as they are stored."""
    return step.weight_bytes if step.mesh.fsdp > 1 else step.compute_bytes


def _working_copy(step: StepShape) -> float:
    if not step.is_full or not step.is_cast or step.mesh.fsdp > 1:
        return 0.0
    return float(step.compute_bytes * step.num_layer_matrices)


def _gathered(step: StepShape) -> float:
    """FSDP: embedding and head for the whole step, and two layers: one at work, the next on its way."""
    if step.mesh.fsdp == 1:
        return 0.0
    layers = 2 * step.architecture.num_matrix_parameters_per_layer
    return float(step.compute_bytes * (step.num_embedding + layers))


def _kept(step: StepShape, fitted: TorchCoefficients) -> float:
    """What all layers keep for the backward pass."""
    layers, values = step.architecture.num_layers, step.architecture.hidden_size * step.tokens
    inputs = layers * values * step.compute_bytes
    if step.recipe.training.remat == "block":
        return inputs
    is_dots = step.recipe.training.remat == "dots"
    if step.is_compiled:
        share = _kept_when_compiled(step, fitted)
        return inputs + layers * (share * _products(step) + _scores(step) * (not is_dots))
    if is_dots:
        return inputs + layers * fitted.kept_by_dots * _known_products(step) * _products(step)
    outputs = fitted.kept_by_none * _products(step) + _scores(step)
    return inputs + layers * (outputs + fitted.kept_by_none_per_value * values)


def _kept_when_compiled(step: StepShape, fitted: TorchCoefficients) -> float:
    """In outputs of the seven matrices; of adapters, `dots` keeps more (engines/torch_compiling.py)."""
    if step.recipe.training.remat == "none":
        return fitted.kept_compiled_by_none
    return fitted.kept_compiled_by_dots if step.is_full else fitted.kept_compiled_by_adapter_dots


def _adapter_inputs(step: StepShape) -> float:
    """What adapters keep to learn from: the inputs of their matrices, which frozen ones do without."""
    if step.recipe.lora is None:
        return 0.0
    widths = sum(step.architecture.matrix_shapes[target][0] for target in step.recipe.lora.targets)
    return float(step.compute_bytes * step.tokens * widths)


def _known_products(step: StepShape) -> int:
    """How often `dots` keeps the outputs of the seven matrices.

    Adapters have outputs of their own; the products of quantised matrices are not known as such.
    """
    return (step.recipe.quantization is None) + (step.recipe.lora is not None)


def _at_work(step: StepShape, fitted: TorchCoefficients) -> float:
    """Everything that one layer makes on its way, forward again and backward."""
    values = step.architecture.hidden_size * step.tokens
    made = fitted.layer_at_work * _products(step) + fitted.layer_at_work_per_value * values
    return made + 2 * _scores(step) + _adapter_inputs(step)


def _products(step: StepShape) -> float:
    """Outputs of the seven matrices."""
    outputs = sum(num_outputs for _, num_outputs in step.architecture.matrix_shapes.values())
    return float(step.compute_bytes * step.tokens * outputs)


def _scores(step: StepShape) -> float:
    """[rows, heads, T, T] in float32, which only the dense kernel materialises."""
    if step.attention.kernel != "dense":
        return 0.0
    return 4.0 * step.rows * step.architecture.num_heads * step.recipe.data.row_length**2


def _masks(step: StepShape) -> float:
    """[rows, 1, T, T]: one byte for each kind of layer, and the numbers that a fused kernel makes of one."""
    if step.attention.kernel in TAKING_BORDERS:
        return 0.0
    kinds = len({window is None for window in step.architecture.layer_windows})
    return float((kinds + step.compute_bytes) * step.rows * step.recipe.data.row_length**2)
