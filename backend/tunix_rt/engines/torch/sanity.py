"""What is about to run, in one block."""

from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.preparation import Prepared
from tunix_rt.engines.sanity import batch_line, block, data_line, logits_text, mib, model_line, training_line
from tunix_rt.engines.torch.devices import TorchDevice
from tunix_rt.engines.torch.sharding import Layout
from tunix_rt.engines.torch_kernels import TorchChoice
from tunix_rt.recipes.types import Recipe

_BYTES = {"float32": 4, "bfloat16": 2}


def sanity_block(prepared: Prepared, device: TorchDevice, kernel: TorchChoice, layout: Layout) -> str:
    """The block: one line a subject."""
    recipe, architecture = prepared.recipe, prepared.source.architecture
    num_parts = recipe.training.gradient_accumulation_steps
    rows = recipe.training.batch_size // num_parts
    own_rows = rows // layout.num_processes
    return block(
        {
            "model": model_line(prepared, num_trained_weights(recipe, architecture)),
            "training": training_line(recipe),
            "precision": _precision(recipe),
            "batch": batch_line(prepared, (num_parts, rows, recipe.data.row_length), "int64"),
            "data": data_line(prepared),
            "attention": f"{kernel.kernel} ({kernel.reason})",
            "devices": str(device),
            "mesh": str(layout),
            "largest": f"{_embedding(recipe, architecture)}, "
            + logits_text(recipe, architecture, rows=own_rows),
        }
    )


def num_trained_weights(recipe: Recipe, architecture: Architecture) -> int:
    """All weights, or those of the adapters.

    Example:
        rank 4 on one matrix [64, 128] of 2 layers -> 2 * 4 * (64 + 128) = 1,536
    """
    if recipe.lora is None:
        return architecture.num_parameters
    shapes = (architecture.matrix_shapes[target] for target in recipe.lora.targets)
    return architecture.num_layers * recipe.lora.rank * sum(map(sum, shapes))


def _precision(recipe: Recipe) -> str:
    precision, is_full = recipe.training.precision, recipe.training.mode == "full"
    rounding = ", stochastic rounding" if precision.stochastic_rounding else ""
    return (
        f"compute {precision.compute}, weights {precision.weights}, "
        f"trained {precision.weights if is_full else 'float32'}, "
        f"optimizer state {precision.optimizer_state}{rounding}"
    )


def _embedding(recipe: Recipe, architecture: Architecture) -> str:
    shape, dtype = (architecture.vocab_size, architecture.hidden_size), recipe.training.precision.weights
    return f"embedding {list(shape)} {dtype} {mib(shape[0] * shape[1] * _BYTES[dtype])}"
