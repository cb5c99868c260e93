"""The fields of config.json that change what a model computes, with the types and defaults of transformers 5.

A family reads only its own fields. What another family would read is ignored, because transformers ignores it
too: a soft cap in the config of a Llama has no effect.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

Family = Literal["gemma", "gemma2", "gemma3", "llama", "qwen3"]


class _Field(NamedTuple):
    """The type and the default of a field, as in the config class of transformers."""

    kind: type
    default: Any = ...
    """... if config.json must have the field."""
    is_nullable: bool = False


_COMMON: Mapping[str, _Field] = {
    **dict.fromkeys(("vocab_size", "hidden_size", "intermediate_size"), _Field(int)),
    **dict.fromkeys(("num_hidden_layers", "num_attention_heads"), _Field(int)),
    "rms_norm_eps": _Field(float, 1e-6),
    "attention_bias": _Field(bool, default=False),
    # The models of Gemma 1 and Llama have no windows, but their KV cache in transformers reads both.
    "sliding_window": _Field(int, None, is_nullable=True),
    "layer_types": _Field(list, None, is_nullable=True),
}
_GEMMA: Mapping[str, _Field] = {
    **_COMMON,
    "head_dim": _Field(int, 256),
    "max_position_embeddings": _Field(int, 8192),
    "tie_word_embeddings": _Field(bool, default=True),
    "use_bidirectional_attention": _Field(bool, None, is_nullable=True),
}
_GEMMA2: Mapping[str, _Field] = {
    **_GEMMA,
    "num_key_value_heads": _Field(int, 4),
    "hidden_activation": _Field(str, "gelu_pytorch_tanh"),
    "query_pre_attn_scalar": _Field(int, 256),
    "sliding_window": _Field(int, 4096, is_nullable=True),
    "attn_logit_softcapping": _Field(float, 50.0, is_nullable=True),
    "final_logit_softcapping": _Field(float, 30.0, is_nullable=True),
}

# Except for RoPE. A family ignores the fields of the others, whatever they hold.
_FIELDS: Mapping[Family, Mapping[str, _Field]] = {
    "gemma": {
        **_GEMMA,
        "num_key_value_heads": _Field(int, 16),
        "hidden_act": _Field(str, "gelu_pytorch_tanh"),
    },
    "gemma2": _GEMMA2,
    # The first configs on the hub have little more than their sizes.
    "gemma3": {
        **_GEMMA2,
        "vocab_size": _Field(int, 262_208),
        "num_attention_heads": _Field(int, 8),
        "max_position_embeddings": _Field(int, 131_072),
        "attn_logit_softcapping": _Field(float, None, is_nullable=True),
        "final_logit_softcapping": _Field(float, None, is_nullable=True),
        "sliding_window_pattern": _Field(int, 6),
    },
    "llama": {
        **_COMMON,
        "num_key_value_heads": _Field(int, None, is_nullable=True),
        "head_dim": _Field(int, None, is_nullable=True),
        "hidden_act": _Field(str, "silu"),
        "max_position_embeddings": _Field(int, 2048),
        "tie_word_embeddings": _Field(bool, default=False),
        "mlp_bias": _Field(bool, default=False),
    },
    "qwen3": {
        **_COMMON,
        "num_key_value_heads": _Field(int, 32, is_nullable=True),
        "head_dim": _Field(int, 128),
        "hidden_act": _Field(str, "silu"),
        "max_position_embeddings": _Field(int, 32_768),
        "tie_word_embeddings": _Field(bool, default=False),
        "use_sliding_window": _Field(bool, default=False),
        "sliding_window": _Field(int, 4096, is_nullable=True),
        "max_window_layers": _Field(int, 28),
    },
}


class FieldError(Exception):
    """A field of a config.json that cannot be used."""

    def __init__(self, field: str, problem: str, fix: str | None = None) -> None:
        super().__init__(f"{field} {problem}")
        self.fix = fix or f"Correct {field} in config.json, or download the model again."


def read_fields(family: Family, config: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the family, except for RoPE; see engines/weights/rope.py.

    Raises:
        FieldError: A field is missing or has a wrong type.
    """
    fields = _FIELDS[family]
    missing = [key for key, field in fields.items() if field.default is ... and key not in config]
    if missing:
        raise FieldError(", ".join(missing), "is missing" if len(missing) == 1 else "are missing")
    return {key: _value(config, key, field) for key, field in fields.items()}


# The numbers of _FIELDS that may be zero.
_MAY_BE_ZERO = frozenset({"rms_norm_eps", "max_window_layers"})
_SMALLEST: Mapping[type, float] = {int: 1, float: 5e-324}
# The sizes of arrays are int32 in places.
_LARGEST = 2**31 - 1


def _value(config: Mapping[str, Any], key: str, field: _Field) -> Any:
    """The value of a field, checked as strictly as transformers does: 30 is not a float, 1 is not a bool."""
    value: Any = config.get(key, field.default)
    if value is None and field.is_nullable:
        return None
    if type(value) is not field.kind:
        kind = "float, such as 30.0" if field.kind is float else field.kind.__name__
        raise FieldError(key, f"is {shown(value)}, but must be of type {kind}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        smallest = 0 if key in _MAY_BE_ZERO else _SMALLEST[field.kind]
        if not smallest <= value <= _LARGEST:
            bound = "positive" if smallest else "at least 0"
            raise FieldError(key, f"is {shown(value)}, but must be {bound} and at most {_LARGEST}")
    return value


def shown(value: object) -> str:
    """The value as config.json has it, cut off if it is long."""
    return json.dumps(value, default=repr)[:80]
