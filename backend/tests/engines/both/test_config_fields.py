"""Every field of config.json: both engines compute what transformers computes, or the field is refused.

A case changes one model of a family. The reference is transformers with eager attention, in float32.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pytest
import torch
import transformers
from numpy.typing import NDArray
from support.rows import logits, packed_rows
from support.tiny_models import engine_params
from support.torch_models import CPU, inputs_of

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.jax.model.decoder import ForwardOptions
from tunix_rt.engines.torch.model.decoder import DecoderOptions, open_decoder
from tunix_rt.engines.torch.training.loss import head_logits
from tunix_rt.engines.weights.architecture import Architecture, architecture_from_config
from tunix_rt.engines.weights.sources import ModelSource

SIZES = {
    "vocab_size": 96,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 64,
}
# Windows shorter than the row, and soft caps low enough to bend scores of this size.
BASES: Mapping[str, dict[str, Any]] = {
    "gemma": {"model_type": "gemma", **SIZES, "hidden_act": "gelu", "hidden_activation": None},
    "gemma2": {
        "model_type": "gemma2", **SIZES, "sliding_window": 5, "query_pre_attn_scalar": 8,
        "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0,
    },
    "gemma3": {
        "model_type": "gemma3_text", **SIZES, "sliding_window": 5, "query_pre_attn_scalar": 24,
        "sliding_window_pattern": 3,
    },
    "llama": {"model_type": "llama", **SIZES},
    "smollm2": {
        "model_type": "llama", **{key: SIZES[key] for key in SIZES if key != "head_dim"},
        "rope_theta": 100_000, "rope_scaling": None, "rms_norm_eps": 1e-5, "tie_word_embeddings": True,
        "rope_interleaved": False, "is_llama_config": True,
    },
    "qwen3": {
        "model_type": "qwen3", **SIZES, "use_sliding_window": True, "sliding_window": 5,
        "max_window_layers": 1,
    },
}  # fmt: skip
TOKENS = np.random.default_rng(0).integers(1, 80, size=14, dtype=np.int32)
INPUTS = packed_rows([[TOKENS]], len(TOKENS))

FULL, SLIDING = "full_attention", "sliding_attention"
LINEAR = {"rope_type": "linear", "factor": 4.0}
LLAMA3 = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}  # fmt: skip
ALIASES = ["gelu_python", "gelu_python_tanh", "gelu_new", "gelu_fast", "gelu_accurate", "swish"]
OTHER_ACTIVATIONS = ["gelu_10", "hardswish", "mish", "quick_gelu", "relu2", "linear", "none", "", None, 1]

# Values that every family accepts, because it reads the field or because it ignores it.
ACCEPTED: Mapping[str, list[Any]] = {
    "vocab_size": [80],
    "hidden_size": [40],
    "intermediate_size": [40],
    "num_hidden_layers": [2],
    "num_attention_heads": [2, 8],
    "num_key_value_heads": [1, 4],
    "head_dim": [8],
    "max_position_embeddings": [32],
    "hidden_act": ["gelu", "gelu_pytorch_tanh", "relu", "silu"],
    "hidden_activation": ["gelu", "gelu_pytorch_tanh", "relu", "silu"],
    "rms_norm_eps": [0.1],
    "tie_word_embeddings": [True, False],
    "query_pre_attn_scalar": [4, 100],
    "attn_logit_softcapping": [None, 0.5],
    "final_logit_softcapping": [None, 0.5],
    "sliding_window": [2, 9],
    "use_sliding_window": [True, False],
    "max_window_layers": [0, 2, 28],
    "layer_types": [None, [FULL] * 3],
    "sliding_window_pattern": [1, 2],
    "rope_theta": [300.0, 5000],
    "rope_local_base_freq": [300.0],
    "rope_scaling": [None, {}, LINEAR, LLAMA3, LINEAR | {"rope_theta": 300.0}, {"rope_type": "default"}],
    "rope_parameters": [None],
    "partial_rotary_factor": [0.5, None],
    "original_max_position_embeddings": [16, None],
    "attention_bias": [False],
    "mlp_bias": [False],
    "use_bidirectional_attention": [False],
    "is_causal": [True],
    "per_layer_config": [None],
    "quantization_config": [None],
    # Without effect on the logits.
    "architectures": [["Other"]],
    "attention_dropout": [0.5],
    "bos_token_id": [5],
    "chunk_size_feed_forward": [2],
    "dtype": ["bfloat16"],
    "eos_token_id": [[5, 6]],
    "id2label": [{"0": "A", "1": "B", "2": "C"}],
    "initializer_range": [0.5],
    "is_encoder_decoder": [True],
    "label2id": [{"A": 0}],
    "output_hidden_states": [True],
    "pad_token_id": [3],
    "pretraining_tp": [4],
    "problem_type": ["regression"],
    "return_dict": [True],
    "torch_dtype": ["bfloat16"],
    "transformers_version": ["4.30.0"],
    "use_cache": [True, False],
}
# Values that a family refuses if it reads the field.
REFUSED: Mapping[str, list[Any]] = {
    "vocab_size": [0, 96.0, "96", None],
    "hidden_size": [30, -32, True],
    "intermediate_size": [0],
    "num_hidden_layers": [0, None],
    "num_attention_heads": [3, 0],
    "num_key_value_heads": [3, 0, -1],
    "head_dim": [15, 0],
    "max_position_embeddings": [64.5],
    "hidden_act": OTHER_ACTIVATIONS,
    "hidden_activation": OTHER_ACTIVATIONS,
    "rms_norm_eps": [1, None, "1e-6", float("nan")],
    "tie_word_embeddings": [None, 1],
    "query_pre_attn_scalar": [0, -4, 24.5, None],
    "attn_logit_softcapping": [0.0, 30, float("inf")],
    "final_logit_softcapping": [0.0, 30, "30"],
    "sliding_window": [None, 0, -3],
    "use_sliding_window": [None, 1],
    "max_window_layers": [None, 1.5],
    "layer_types": [[FULL], ["attention"] * 3, ["chunked_attention", FULL, FULL], [SLIDING, FULL], SLIDING],
    "sliding_window_pattern": [None, 0],
    "rope_theta": [None, 0.0, "10000"],
    "rope_local_base_freq": [None, -1.0],
    "rope_scaling": [
        "linear", {"rope_type": "linear"}, LINEAR | {"factor": None}, LINEAR | {"factor": 0.0},
        LINEAR | {"rope_type": "dynamic"}, LINEAR | {"rope_type": "yarn"}, LINEAR | {"rope_type": None},
        LINEAR | {"rope_type": "other"}, LINEAR | {"partial_rotary_factor": 0.5},
        LINEAR | {"rope_theta": None},
        LLAMA3 | {"low_freq_factor": 4.0}, {"rope_type": "llama3", "factor": 8.0}, {FULL: LINEAR},
        {"type": "linear", "factor": "4"},
    ],
    "rope_parameters": [3, {FULL: 3}, {FULL: LINEAR | {"rope_type": "yarn"}}, LINEAR | {"rope_type": "yarn"}],
    "attention_bias": [True, None],
    "mlp_bias": [True],
    "use_bidirectional_attention": [True, 1],
    "is_causal": [False, None],
    "per_layer_config": [{"0": {"rms_norm_eps": 0.1}}],
    "quantization_config": [{"quant_method": "bitsandbytes", "load_in_4bit": True}],
}  # fmt: skip


class Case(NamedTuple):
    """A change of a model, and the field that an error has to name."""

    family: str
    field: str
    changes: Mapping[str, Any]
    is_accepted: bool


FLAT_ROPE = [
    {"rope_parameters": LINEAR},
    {"rope_parameters": LLAMA3 | {"rope_theta": 300.0}},
    {"rope_parameters": {"type": "linear", "factor": 2}},
    {"rope_parameters": {"factor": 2.0}},
    {"rope_parameters": {"rope_theta": 300.0}, "rope_theta": 700.0},
    {"rope_parameters": LLAMA3, "rope_scaling": LINEAR},
    {"rope_parameters": LINEAR, "rope_scaling": {}},
    {"rope_scaling": {"type": "linear", "factor": 2.0}, "rope_theta": 300.0},
    {"rope_scaling": LLAMA3, "original_max_position_embeddings": 16},
    {"rope_scaling": {key: LLAMA3[key] for key in LLAMA3 if key != "original_max_position_embeddings"}},
]
LOCAL = {"rope_type": "linear", "factor": 2.0, "rope_theta": 300.0}
NESTED_ROPE = [
    {"rope_parameters": {FULL: LINEAR, SLIDING: LOCAL}},
    {"rope_parameters": {SLIDING: LINEAR}},
    {"rope_parameters": {SLIDING: LLAMA3}, "rope_local_base_freq": 300.0},
    {"rope_parameters": {FULL: None, SLIDING: LOCAL}, "rope_theta": 300.0},
    {"rope_parameters": {FULL: LLAMA3 | {"rope_theta": 700.0}}, "rope_theta": 300.0},
    {"rope_parameters": {FULL: {"type": "linear", "factor": 2.0}}},
    {"rope_parameters": {FULL: {"rope_theta": 300.0}}, "rope_scaling": LINEAR},
    {"rope_parameters": {}},
    {"rope_scaling": LINEAR, "rope_theta": 300.0, "rope_local_base_freq": 500.0},
    {"rope_scaling": LLAMA3, "original_max_position_embeddings": 16},
    {"rope_scaling": {key: LLAMA3[key] for key in LLAMA3 if key != "original_max_position_embeddings"}},
    {"rope_scaling": {"rope_type": "default", "factor": 2.0}},
]


def swept() -> Iterator[Case]:
    """One field at a time, in every family."""
    for values, is_accepted in ((ACCEPTED, True), (REFUSED, False)):
        for field, family in ((field, family) for field in values for family in BASES):
            for value in values[field]:
                yield Case(family, field, {field: value}, is_accepted)


def combined() -> Iterator[Case]:
    """RoPE in the spellings of transformers 4 and 5."""
    for family in BASES:
        fitting, unfitting = (
            (NESTED_ROPE, FLAT_ROPE[:3]) if family == "gemma3" else (FLAT_ROPE, NESTED_ROPE[:6])
        )
        for changes in fitting:
            yield Case(family, "rope", changes, is_accepted=True)
        for changes in unfitting:
            yield Case(family, "rope_parameters", changes, is_accepted=False)
    yield Case("gemma3", "rope_scaling", {"rope_scaling": {"type": "linear", "factor": 2.0}}, False)
    yield Case("gemma3", "rope_scaling", {"rope_scaling": LINEAR, "rope_parameters": {SLIDING: LOCAL}}, False)
    for alias in ALIASES:
        yield Case("llama", "hidden_act", {"hidden_act": alias}, is_accepted=True)
        yield Case("gemma2", "hidden_activation", {"hidden_activation": alias}, is_accepted=True)
    for family in ("gemma3", "llama"):
        changes = {"rope_scaling": LINEAR, "partial_rotary_factor": 0.5}
        yield Case(family, "partial_rotary_factor", changes, is_accepted=False)
    for family in ("gemma2", "gemma3", "qwen3"):
        yield Case(family, "layer_types", {"layer_types": [FULL, SLIDING, FULL]}, is_accepted=True)
        yield Case(family, "layer_types", {"layer_types": [SLIDING] * 3}, is_accepted=True)
    yield Case("llama", "rope_parameters", {"rope_scaling": LINEAR, "rope_parameters": 3}, is_accepted=False)
    yield Case("qwen3", "sliding_window", {"layer_types": [SLIDING] * 3, "use_sliding_window": False}, False)


def identifier(case: Case) -> str:
    return f"{case.family}-{'-'.join(f'{key}={value}' for key, value in case.changes.items())}"[:120]


@pytest.mark.parametrize("case", [*swept(), *combined()], ids=identifier)
def test_the_logits_are_those_of_transformers_or_the_field_is_refused(case: Case) -> None:
    check(BASES[case.family] | dict(case.changes), case)


@pytest.mark.parametrize(
    ("family", "field"),
    [(name, key) for name, base in BASES.items() for key in base if key != "model_type"],
)
def test_a_missing_field_has_its_default_or_is_refused(family: str, field: str) -> None:
    config = {key: value for key, value in BASES[family].items() if key != field}
    check(config, Case(family, field, {}, is_accepted=False))


@pytest.mark.parametrize("family", BASES)
def test_the_sweep_covers_every_field_of_transformers(family: str) -> None:
    config_class = type(transformers.AutoConfig.for_model(**deepcopy(BASES[family])))
    assert {field.name for field in dataclasses.fields(config_class)} <= ACCEPTED.keys()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"text_config": None}, "text_config"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings"),
        ({"text_config": BASES["gemma3"] | {"tie_word_embeddings": False}}, "tie_word_embeddings"),
        ({"quantization_config": {"load_in_4bit": True}}, "quantization_config"),
        ({"text_config": BASES["gemma3"] | {"is_causal": False}}, "is_causal"),
        ({"text_config": BASES["gemma3"] | {"hidden_activation": "mish"}}, "hidden_activation"),
    ],
)
def test_a_multimodal_gemma_3_is_refused_for_what_its_text_model_cannot(
    changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInputError, match=field):
        architecture_from_config({"model_type": "gemma3", "text_config": BASES["gemma3"]} | changes)


def check(config: dict[str, Any], case: Case) -> None:
    architecture = architecture_or_error(config)
    if isinstance(architecture, InvalidInputError):
        assert not case.is_accepted, architecture
        assert case.field in str(architecture)
        assert architecture.next_step
        return
    model = transformers_model(config)
    expected = their_logits(model)
    base, expected_of_base = of_base(case.family)
    if np.array_equal(expected, expected_of_base):
        # Without effect in transformers, and therefore here.
        assert dataclasses.replace(architecture, max_positions=base.max_positions) == base
        return
    np.testing.assert_allclose(jax_logits(model, architecture), expected, atol=1e-4, rtol=1e-4)
    np.testing.assert_allclose(torch_logits(model, config, architecture), expected, atol=1e-4, rtol=1e-4)


def architecture_or_error(config: dict[str, Any]) -> Architecture | InvalidInputError:
    try:
        return architecture_from_config(config)
    except InvalidInputError as error:
        return error


@cache
def of_base(family: str) -> tuple[Architecture, NDArray[np.float32]]:
    return architecture_from_config(BASES[family]), their_logits(transformers_model(BASES[family]))


def transformers_model(config: dict[str, Any]) -> Any:
    """The model in transformers. Weights depend on their name and shape alone."""
    read = transformers.AutoConfig.for_model(**deepcopy(config))
    model: Any = transformers.AutoModelForCausalLM.from_config(
        read, dtype=torch.float32, attn_implementation="eager"
    )
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(0.0, 0.3, generator=torch.Generator().manual_seed(crc32(name.encode())))
    return model.eval()


def their_logits(model: Any) -> NDArray[np.float32]:
    with torch.no_grad():
        logits: NDArray[np.float32] = model(torch.from_numpy(TOKENS[None]).long()).logits[0].numpy()
    return logits


def jax_logits(model: Any, architecture: Architecture) -> NDArray[np.float32]:
    # Unrolled, the operations are compiled once for all models; a loop would be compiled for each.
    options = ForwardOptions("float32", unrolls_layers=True)
    params = engine_params(model, architecture)
    return np.asarray(logits(params, None, architecture, INPUTS, options)[0])


def torch_logits(model: Any, config: dict[str, Any], architecture: Architecture) -> NDArray[np.float32]:
    source = ModelSource("tiny", architecture, config, directory=None, revision=None)
    decoder = open_decoder(source, DecoderOptions(kernel="dense", is_random=True), CPU)
    decoder.module.load_state_dict(model.state_dict())
    with torch.no_grad():
        hidden = decoder.hidden(*inputs_of(INPUTS))[0]
        return head_logits(hidden, decoder.head_weight(), architecture.final_softcap).numpy()
