"""FLOPs counted from shapes, checked by hand."""

import pytest
from support.recipes import make_recipe

from tunix_rt.engines.planning.step import (
    attention_flops_per_token,
    executed_flops_per_token,
    model_flops,
    model_flops_per_token,
    num_adapter_parameters,
)
from tunix_rt.engines.weights.sources import resolve_model


def architecture_of(model: str):
    return resolve_model(make_recipe(model).model, needs_weights=False).architecture


def test_full_training_flops_are_6n() -> None:
    recipe = make_recipe(**{"data.row_length": 2})
    gemma = architecture_of("google/gemma-2b")
    assert model_flops_per_token(gemma, recipe) == pytest.approx(6 * gemma.num_parameters, rel=1e-3)


def test_lora_skips_weight_gradients() -> None:
    gemma = architecture_of("google/gemma-2b")
    full = model_flops_per_token(gemma, make_recipe(**{"data.row_length": 2}))
    lora = model_flops_per_token(gemma, make_recipe(**{"data.row_length": 2, "training.mode": "lora"}))
    assert 2 / 3 < lora / full < 0.7


def test_adapter_parameters_are_rank_times_widths() -> None:
    recipe = make_recipe(**{"training.mode": "lora", "lora.rank": 4, "lora.targets": ["q", "down"]})
    gemma = architecture_of("google/gemma-2b")
    assert num_adapter_parameters(gemma, recipe) == 18 * 4 * (2048 + 2048 + 16384 + 2048)


def test_block_remat_recomputes_layers() -> None:
    gemma = architecture_of("google/gemma-2b")
    plain = make_recipe(**{"training.remat": "none"})
    assert executed_flops_per_token(gemma, plain) == model_flops_per_token(gemma, plain)
    block = make_recipe(**{"training.remat": "block"})
    layers = 2 * 18 * gemma.num_matrix_parameters_per_layer
    extra = executed_flops_per_token(gemma, block) - model_flops_per_token(gemma, block)
    assert extra == pytest.approx(layers + attention_flops_per_token(gemma, 512))


def test_sliding_window_bounds_attention_flops() -> None:
    gemma3 = architecture_of("google/gemma-3-1b-pt")
    per_head_value = 4 * gemma3.num_heads * gemma3.head_dim
    # In a row of 4 tokens, each attends to 1, 2, 3 and 4 tokens: 2.5 on average in each layer.
    assert attention_flops_per_token(gemma3, 4) == pytest.approx(26 * 2.5 * per_head_value)
    short, long = attention_flops_per_token(gemma3, 4096), attention_flops_per_token(gemma3, 8192)
    assert long < 2 * short


def test_untrained_tokens_skip_logit_flops() -> None:
    recipe = make_recipe(**{"data.row_length": 2})
    gemma = architecture_of("google/gemma-2b")
    everything, half = (
        model_flops(gemma, recipe, num_tokens=10, num_trained_tokens=trained) for trained in (10, 5)
    )
    assert everything == pytest.approx(10 * model_flops_per_token(gemma, recipe))
    assert everything - half == pytest.approx(5 * 6 * gemma.vocab_size * gemma.hidden_size)
