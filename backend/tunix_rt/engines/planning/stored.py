"""What stays in memory between two steps, counted exactly."""

from tunix_rt.engines.planning.step_shape import NUM_BYTES, StepShape


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
        # Torch multiplies numbers of one format only: frozen matrices are held in the one that computes.
        return step.compute_bytes if step.engine == "torch" else step.weight_bytes
    code = {"nf4": 0.5, "int8": 1.0}[quantization.format]
    return code + 4 / quantization.block_size


def optimizer_state_bytes(step: StepShape) -> float:
    """Two moments per trained weight, or Adafactor's rows and columns, which are always float32."""
    training = step.recipe.training
    if training.optimizer.name == "adafactor":
        return step.num_factors * 4  # small, and copied to every device
    moment = NUM_BYTES[training.precision.optimizer_state]
    return 2 * step.num_trained * moment / step.num_weight_parts
