"""Memory of one step by component, from sizes alone. The coefficients are fitted on compiled steps.

Stored things (weights, optimizer state) are counted exactly; what the compiler decides (how long gradients,
activations and temporaries live side by side) is modelled, one line per cause.
"""

from tunix_rt.core.plan import Component
from tunix_rt.engines.planning.calibration import CALIBRATIONS, Calibration
from tunix_rt.engines.planning.step_shape import NUM_BYTES, StepShape


def estimate_components(step: StepShape) -> dict[Component, int]:
    """Bytes per device by component."""
    fitted = CALIBRATIONS[step.platform]
    weights, optimizer_state = stored_weight_bytes(step), optimizer_state_bytes(step)
    return {
        "weights": int(weights),
        "optimizer_state": int(optimizer_state),
        "undonated_copies": int(undonated_bytes(step)),
        "gradients": int(gradient_bytes(step, fitted)),
        "activations": int(activation_bytes(step, fitted)),
        "logits": int(logit_bytes(step, fitted)),
        "temporaries": int(temporary_bytes(step, fitted)),
    }


def stored_weight_bytes(step: StepShape) -> float:
    """All weights that stay in memory between steps: frozen ones, trained ones, adapters."""
    if step.is_full:
        return step.num_trained * step.weight_bytes / step.num_weight_parts
    others = (step.architecture.num_parameters - step.num_layer_matrices) * step.weight_bytes
    frozen = others + step.num_layer_matrices * _frozen_matrix_bytes(step)
    return (frozen + step.num_trained * 4) / step.num_weight_parts


def _frozen_matrix_bytes(step: StepShape) -> float:
    quantization = step.recipe.quantization
    if quantization is None:
        return step.weight_bytes
    code = {"nf4": 0.5, "int8": 1.0}[quantization.format]
    return code + 4 / quantization.block_size


def optimizer_state_bytes(step: StepShape) -> float:
    """Two moments per trained weight, or Adafactor's rows and columns, which are always float32."""
    training = step.recipe.training
    if training.optimizer.name == "adafactor":
        return step.num_factors * 4 / step.num_weight_parts
    moment = NUM_BYTES[training.precision.optimizer_state]
    return 2 * step.num_trained * moment / step.num_weight_parts


def undonated_bytes(step: StepShape) -> float:
    """Without donation the new state stands beside the old one."""
    if step.recipe.training.donate_buffers:
        return 0.0
    trained = step.num_trained * (step.weight_bytes if step.is_full else 4) / step.num_weight_parts
    return trained + optimizer_state_bytes(step)


def gradient_bytes(step: StepShape, fitted: Calibration) -> float:
    """Gradients of the trained weights: of all layers at once, since the scan stacks them."""
    is_summed = step.recipe.training.gradient_accumulation_steps > 1
    size = 4 if is_summed or not step.is_full else step.weight_bytes
    return fitted.gradients * size * step.num_trained / step.num_weight_parts


def activation_bytes(step: StepShape, fitted: Calibration) -> float:
    """Kept activations of all layers plus one layer at work."""
    model, layers = step.architecture, step.architecture.num_layers
    per_token = step.compute_bytes * step.tokens
    inputs = layers * model.hidden_size * per_token
    wide = 3 * model.intermediate_size + 2 * (model.num_heads + model.num_kv_heads) * model.head_dim
    one_layer = (wide + 6 * model.hidden_size) * per_token / step.mesh.tensor
    scores = _score_bytes(step)
    if step.recipe.training.remat == "block":
        return inputs + fitted.layer_at_work * (one_layer + scores)
    if step.recipe.training.remat == "dots":
        return inputs + layers * fitted.kept_by_dots * one_layer + fitted.layer_at_work * scores
    return inputs + layers * fitted.kept_by_none * (one_layer + scores)


def _score_bytes(step: StepShape) -> float:
    """[rows, heads, T, T] in float32, which only the dense kernel materialises."""
    if step.attention.kernel != "dense":
        return 0.0
    length = step.recipe.data.row_length
    return 4.0 * step.rows * step.architecture.num_heads * length * length / step.mesh.tensor


def logit_bytes(step: StepShape, fitted: Calibration) -> float:
    """Float32 logits of the tokens scored at one time, and their gradient."""
    return fitted.logits * 4 * step.scored_tokens * step.architecture.vocab_size / step.mesh.tensor


def temporary_bytes(step: StepShape, fitted: Calibration) -> float:
    """Weights cast for compute, weights gathered from the other devices, and the program itself."""
    cast = 0.0
    if step.weight_bytes != step.compute_bytes:
        cast = fitted.cast_weights * step.compute_bytes * step.architecture.num_parameters
        cast /= step.num_weight_parts
    gathered = 0.0
    if step.mesh.fsdp > 1:
        layer = step.architecture.num_matrix_parameters_per_layer
        gathered = step.compute_bytes * (fitted.gathered_layers * layer + step.num_embedding)
    return cast + gathered / step.mesh.tensor + fitted.program_bytes
