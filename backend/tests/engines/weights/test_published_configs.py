"""The architecture read from a config.json equals that of transformers, for every style and omitted key."""

from typing import Any

import pytest
from transformers import AutoConfig

from tunix_rt.base.assets import known_model_configs, shipped_model_config, shipped_model_names
from tunix_rt.engines.weights.architecture import architecture_from_config

SIZES = {
    "vocab_size": 96,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 8,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
}
LINEAR = {"rope_type": "linear", "factor": 8.0}
SPARSE: dict[str, dict[str, Any]] = {
    "gemma": {"model_type": "gemma", **SIZES, "hidden_act": "gelu", "hidden_activation": None},
    "gemma2": {"model_type": "gemma2", **SIZES},
    "gemma2 without soft caps": {
        "model_type": "gemma2", **SIZES, "attn_logit_softcapping": None, "final_logit_softcapping": None,
    },
    "gemma3 as first published": {
        "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34,
        "rope_scaling": LINEAR, "sliding_window": 1024,
    },
    "gemma3 with another pattern": {"model_type": "gemma3_text", **SIZES, "sliding_window_pattern": 3},
    "llama": {"model_type": "llama", **SIZES, "rope_theta": 250_000.0, "rms_norm_eps": 1e-5},
    "llama with legacy scaling": {
        "model_type": "llama", **SIZES, "rope_scaling": {"type": "linear", "factor": 2.0},
    },
    "qwen3": {"model_type": "qwen3", **SIZES, "rope_theta": 1_000_000, "tie_word_embeddings": True},
    "qwen3 with windows": {
        "model_type": "qwen3", **SIZES, "use_sliding_window": True, "sliding_window": 64,
        "max_window_layers": 3,
    },
}  # fmt: skip
SHIPPED = {name: shipped_model_config(name) for name in shipped_model_names()}


@pytest.mark.parametrize("name", [*SPARSE, *SHIPPED, *known_model_configs()])
def test_architecture_matches_transformers(name: str) -> None:
    config = (SPARSE | SHIPPED | known_model_configs())[name]
    completed = AutoConfig.for_model(**config).to_dict()
    assert architecture_from_config(config) == architecture_from_config(completed)


def test_multimodal_gemma3_resolves_to_text() -> None:
    text = SPARSE["gemma3 as first published"]
    assert architecture_from_config(
        {"model_type": "gemma3", "text_config": text}
    ) == architecture_from_config(text)
