"""Tiny random models in transformers, one per family, and their weights in the engine's layout."""

from copy import deepcopy
from typing import Any

import jax.numpy as jnp
import torch
import transformers
from transformers import PreTrainedModel

from tunix_rt.engines.jax.model.params import Params
from tunix_rt.engines.weights.architecture import Architecture, architecture_from_config

_SHAPE = {
    "vocab_size": 96,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 64,
    "attn_implementation": "eager",
}
_LLAMA3_SCALING = {
    "rope_type": "llama3",
    "rope_theta": 500_000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
_LINEAR_SCALING = {"rope_type": "linear", "rope_theta": 10_000.0, "factor": 4.0}
_GEMMA3_ROPE = {
    "full_attention": {"rope_type": "linear", "rope_theta": 1_000_000.0, "factor": 8.0},
    "sliding_attention": {"rope_type": "default", "rope_theta": 10_000.0},
}

CONFIGS: dict[str, transformers.PretrainedConfig] = {
    "gemma": transformers.GemmaConfig(**_SHAPE | {"num_key_value_heads": 1}, num_hidden_layers=2),
    # The soft caps are low enough to affect these scores, and the window is shorter than the test rows.
    "gemma2": transformers.Gemma2Config(
        **_SHAPE,
        num_hidden_layers=3,
        sliding_window=5,
        attn_logit_softcapping=2.0,
        final_logit_softcapping=3.0,
        query_pre_attn_scalar=8,
    ),
    "gemma3": transformers.Gemma3TextConfig(
        **_SHAPE,
        num_hidden_layers=8,
        sliding_window=6,
        query_pre_attn_scalar=24,
        rope_parameters=_GEMMA3_ROPE,
    ),
    "llama": transformers.LlamaConfig(**_SHAPE, num_hidden_layers=2, rms_norm_eps=1e-3),
    "llama-llama3-scaling": transformers.LlamaConfig(
        **_SHAPE, num_hidden_layers=2, rope_parameters=_LLAMA3_SCALING, tie_word_embeddings=True
    ),
    "llama-linear-scaling": transformers.LlamaConfig(
        **_SHAPE, num_hidden_layers=2, rope_parameters=_LINEAR_SCALING
    ),
    "qwen3": transformers.Qwen3Config(**_SHAPE, num_hidden_layers=2, tie_word_embeddings=True),
    "qwen3-window": transformers.Qwen3Config(
        **_SHAPE, num_hidden_layers=3, use_sliding_window=True, sliding_window=7, max_window_layers=1
    ),
}


def tiny_model(name: str, seed: int = 0) -> PreTrainedModel:
    """Return a model with random weights, including norms, that are large enough to matter."""
    torch.manual_seed(seed)
    # A copy, because saving a model writes its dtype into the config.
    model: PreTrainedModel = transformers.AutoModelForCausalLM.from_config(deepcopy(CONFIGS[name]))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.3)
    return model.eval()


def architecture_of(model: PreTrainedModel) -> Architecture:
    return architecture_from_config(model.config.to_dict())


def engine_params(model: PreTrainedModel, architecture: Architecture) -> Params:
    """Return the float32 weights of `model` in the layout of engines/jax/model/params.py."""
    state = {name.removeprefix("model."): tensor.numpy() for name, tensor in model.state_dict().items()}
    names = _norm_names(architecture) | {
        **{name: f"self_attn.{name}_proj" for name in "qkvo"},
        **{name: f"mlp.{name}_proj" for name in ("gate", "up", "down")},
    }

    def stacked(hf_name: str) -> Any:
        tensors = [state[f"layers.{layer}.{hf_name}.weight"].T for layer in range(architecture.num_layers)]
        return jnp.stack([jnp.asarray(tensor) for tensor in tensors])

    params: Params = {
        "embedding": jnp.asarray(state["embed_tokens.weight"]),
        "layers": {name: stacked(hf_name) for name, hf_name in names.items()},
        "final_norm": jnp.asarray(state["norm.weight"]),
    }
    return (
        params if architecture.is_embedding_tied else params | {"head": jnp.asarray(state["lm_head.weight"])}
    )


def _norm_names(architecture: Architecture) -> dict[str, str]:
    names = {"attention_norm": "input_layernorm", "mlp_norm": "post_attention_layernorm"}
    if architecture.has_post_norms:
        names |= {
            "mlp_norm": "pre_feedforward_layernorm",
            "post_attention_norm": "post_attention_layernorm",
            "post_mlp_norm": "post_feedforward_layernorm",
        }
    if architecture.has_qk_norm:
        names |= {"q_norm": "self_attn.q_norm", "k_norm": "self_attn.k_norm"}
    return names
