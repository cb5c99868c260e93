"""Floating-point operations of a training step, counted from the shape of the model.

A product of [m, k] with [k, n] is 2 m k n. Per trained token and weight that is 2 forward, 2 for the gradient
of the input and 2 for the gradient of the weight, which frozen weights do without.
"""

from tunix_rt.engines.architecture import Architecture
from tunix_rt.recipes.types import Recipe


def model_flops_per_token(architecture: Architecture, recipe: Recipe) -> float:
    """What a step must compute for a token that is trained, however it does it."""
    trains_weights = recipe.training.mode == "full"
    per_weight = 6 if trains_weights else 4
    adapters = 0 if recipe.lora is None else 6 * num_adapter_parameters(architecture, recipe)
    matrices = per_weight * num_product_parameters(architecture)
    # The two products of attention have no weights: both inputs need a gradient in every mode.
    return matrices + adapters + 3 * attention_flops_per_token(architecture, recipe.data.row_length)


def model_flops(
    architecture: Architecture, recipe: Recipe, *, num_tokens: int, num_trained_tokens: int
) -> float:
    """What a step must compute: the numerator of the model FLOPs utilisation (MFU).

    Tokens of prompts need no logits; counting them would praise work that is never done.
    """
    per_weight = 6 if recipe.training.mode == "full" else 4
    head = per_weight * architecture.vocab_size * architecture.hidden_size
    per_token = model_flops_per_token(architecture, recipe)
    return num_tokens * per_token - (num_tokens - num_trained_tokens) * head


def executed_flops_per_token(architecture: Architecture, recipe: Recipe) -> float:
    """The same with what `remat: block` computes twice: the forward pass of every layer."""
    flops = model_flops_per_token(architecture, recipe)
    if recipe.training.remat != "block":
        return flops
    layers = 2 * architecture.num_layers * architecture.num_matrix_parameters_per_layer
    return flops + layers + attention_flops_per_token(architecture, recipe.data.row_length)


def num_product_parameters(architecture: Architecture) -> int:
    """Weights that every token is multiplied with: the matrices of the layers and the output embedding."""
    layers = architecture.num_layers * architecture.num_matrix_parameters_per_layer
    return layers + architecture.vocab_size * architecture.hidden_size


def num_adapter_parameters(architecture: Architecture, recipe: Recipe) -> int:
    """Weights of the LoRA adapters; 0 in full mode."""
    if recipe.lora is None:
        return 0
    widths = sum(sum(architecture.matrix_shapes[target]) for target in set(recipe.lora.targets))
    return architecture.num_layers * recipe.lora.rank * widths


def attention_flops_per_token(architecture: Architecture, row_length: int) -> float:
    """Scores and weighted values of one forward pass, averaged over the tokens of a full causal row."""
    flops = 0.0
    for window in architecture.layer_windows:
        reach = min(window or row_length, row_length)
        # Token t sees min(t, reach) tokens: a triangle, then a band.
        mean_reach = reach - reach * (reach - 1) / (2 * row_length)
        flops += 4 * architecture.num_heads * architecture.head_dim * mean_reach
    return flops
