"""The architecture of a decoder from config.json; names and shapes of its tensors.

One description covers five model families. Their differences are data here, never an `if family` elsewhere:

    family   norms            mlp        window              positions              soft caps   embedding
    gemma    1 + w            gelu_tanh  –                   theta                  –           times sqrt(D)
    gemma2   1 + w, post      gelu_tanh  every second layer  theta                  50 / 30     times sqrt(D)
    gemma3   1 + w, post, qk  gelu_tanh  five of six layers  theta, local theta     –           times sqrt(D)
    llama    w                silu       –                   theta, llama3 scaling  –           as it is
    qwen3    w, qk            silu       –                   theta                  –           as it is

Matrices are [in, out]. V vocabulary, D hidden, N heads, K key/value heads, H head size, F width of the MLP:

    embedding   [V, D]
    layers      attention_norm [L, D]    q [L, D, N*H]    k, v [L, D, K*H]    o [L, N*H, D]
                mlp_norm       [L, D]    gate, up [L, D, F]                   down [L, F, D]
                post_attention_norm, post_mlp_norm [L, D]    q_norm, k_norm [L, H]  (some families)
    final_norm  [D]
    head        [V, D]                   unless it is tied to the embedding

our name                       Hugging Face name (matrices are [out, in], the transpose of ours)
embedding                      model.embed_tokens.weight
layers / q, …                  model.layers.<i>.self_attn.q_proj.weight, …
final_norm                     model.norm.weight
head                           lm_head.weight
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.weights.config_fields import Family, FieldError, read_fields, shown
from tunix_rt.engines.weights.rope import FULL, SLIDING, Rope, read_ropes

_FAMILIES: Mapping[str, Family] = {
    "gemma": "gemma",
    "gemma2": "gemma2",
    "gemma3_text": "gemma3",
    "llama": "llama",
    "qwen3": "qwen3",
}

Activation = Literal["gelu", "gelu_tanh", "relu", "silu"]

# The names in transformers; it has several implementations of the tanh approximation.
_ACTIVATIONS: Mapping[str, Activation] = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    **dict.fromkeys(
        ("gelu_pytorch_tanh", "gelu_python_tanh", "gelu_new", "gelu_fast", "gelu_accurate"), "gelu_tanh"
    ),
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}


@dataclass(frozen=True)
class Architecture:
    """Everything that the forward pass needs. Hashable: it is a static argument of jit."""

    family: Family
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    max_positions: int
    rms_norm_eps: float
    rope: Rope
    local_rope: Rope | None
    """Rotary positions of the layers with a window (Gemma 3). None: `rope`."""
    layer_windows: tuple[int | None, ...]
    """Attention window per layer, in tokens including the token itself; None: all of them."""
    attention_scale: float
    attention_softcap: float | None
    final_softcap: float | None
    activation: Activation
    is_embedding_tied: bool
    scales_embedding: bool
    norms_add_one: bool
    has_post_norms: bool
    has_qk_norm: bool

    @property
    def num_parameters(self) -> int:
        """Weights of the model; tied ones count once."""
        head = 0 if self.is_embedding_tied else self.vocab_size * self.hidden_size
        embedding = self.vocab_size * self.hidden_size
        return embedding + head + self.num_layers * self.num_parameters_per_layer + self.hidden_size

    @property
    def num_parameters_per_layer(self) -> int:
        """Weights of one layer: projections, MLP and norms."""
        num_norms = 4 if self.has_post_norms else 2
        qk_norms = 2 * self.head_dim if self.has_qk_norm else 0
        return self.num_matrix_parameters_per_layer + num_norms * self.hidden_size + qk_norms

    @property
    def num_matrix_parameters_per_layer(self) -> int:
        """Weights of the seven matrices of one layer."""
        return sum(inputs * outputs for inputs, outputs in self.matrix_shapes.values())

    @property
    def matrix_shapes(self) -> dict[str, tuple[int, int]]:
        """[in, out] of the seven matrices of one layer, which LoRA adapts and QLoRA quantises."""
        queries, keys = self.num_heads * self.head_dim, self.num_kv_heads * self.head_dim
        return {
            "q": (self.hidden_size, queries),
            "k": (self.hidden_size, keys),
            "v": (self.hidden_size, keys),
            "o": (queries, self.hidden_size),
            "gate": (self.hidden_size, self.intermediate_size),
            "up": (self.hidden_size, self.intermediate_size),
            "down": (self.intermediate_size, self.hidden_size),
        }


def architecture_from_config(config: Mapping[str, Any]) -> Architecture:
    """Read the `config.json` of a supported model as transformers 5 does.

    Raises:
        InvalidInputError: The family, or something that the config requires, is not supported; or the config
            is one that transformers rejects. The message names the field.
    """
    model_type = config.get("model_type")
    family = "gemma3" if model_type == "gemma3" else _FAMILIES.get(str(model_type))
    if family is None:
        raise InvalidInputError(
            f"Models of type {model_type!r} are not supported.",
            next_step="Use a Gemma 1, 2 or 3 text model, Llama (SmolLM2 is one), or Qwen3.",
        )
    try:
        _refuse_generic_fields(config)
        return _read(family, _text_config(config) if model_type == "gemma3" else config)
    except FieldError as error:
        raise InvalidInputError(
            f"The config.json of this {model_type} model cannot be used: {error}.", next_step=error.fix
        ) from error


def _refuse_generic_fields(config: Mapping[str, Any]) -> None:
    """Reject the fields that mean the same to transformers in every family, and that no engine supports."""
    if config.get("quantization_config"):
        raise FieldError(
            "quantization_config",
            "says that the weights are already quantised",
            "Start from the original ones.",
        )
    if config.get("per_layer_config"):
        raise FieldError(
            "per_layer_config", "is not supported", "Choose a model whose layers share one configuration."
        )
    # transformers reads null as false.
    if config.get("is_causal", True) is not True:
        raise _bidirectional("is_causal", config["is_causal"])


def _bidirectional(field: str, value: object) -> FieldError:
    return FieldError(
        field,
        f"is {shown(value)}: tokens would attend to later ones, which is not supported",
        "Choose a model with causal attention.",
    )


def _text_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The config of the text model in a multimodal Gemma 3."""
    text = config.get("text_config")
    if not isinstance(text, Mapping):
        raise FieldError("text_config", "is missing")
    _refuse_generic_fields(text)
    field = "tie_word_embeddings"
    if config.get(field, True) != text.get(field, True):
        raise FieldError(
            field, f"is {shown(config.get(field, True))}, but {shown(text.get(field, True))} in text_config"
        )
    return text


def _read(family: Family, config: Mapping[str, Any]) -> Architecture:
    fields = read_fields(family, config)
    for key in ("attention_bias", "mlp_bias"):
        if fields.get(key):
            raise FieldError(key, "is true, but biases are not supported", "Choose a model without biases.")
    if fields.get("use_bidirectional_attention"):
        raise _bidirectional("use_bidirectional_attention", value=True)
    is_gemma = family.startswith("gemma")
    num_heads, num_kv_heads, head_dim = _heads(family, fields)
    rope, local_rope = read_ropes(family, config, fields["max_position_embeddings"])
    return Architecture(
        family=family,
        vocab_size=fields["vocab_size"],
        hidden_size=fields["hidden_size"],
        intermediate_size=fields["intermediate_size"],
        num_layers=fields["num_hidden_layers"],
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=head_dim,
        max_positions=fields["max_position_embeddings"],
        rms_norm_eps=fields["rms_norm_eps"],
        rope=rope,
        local_rope=local_rope,
        layer_windows=_layer_windows(family, fields),
        attention_scale=1.0 / math.sqrt(fields.get("query_pre_attn_scalar", head_dim)),
        # transformers has the field for Gemma 3 too, but never applies it.
        attention_softcap=fields["attn_logit_softcapping"] if family == "gemma2" else None,
        final_softcap=fields.get("final_logit_softcapping"),
        activation=_activation(family, fields),
        is_embedding_tied=fields["tie_word_embeddings"],
        scales_embedding=is_gemma,
        norms_add_one=is_gemma,
        has_post_norms=family in ("gemma2", "gemma3"),
        has_qk_norm=family in ("gemma3", "qwen3"),
    )


def _heads(family: Family, fields: Mapping[str, Any]) -> tuple[int, int, int]:
    """Numbers of query heads and key heads, and the size of a head."""
    hidden_size, num_heads = fields["hidden_size"], fields["num_attention_heads"]
    # transformers requires it of these families even where `head_dim` is given.
    if family in ("gemma2", "gemma3", "llama") and hidden_size % num_heads != 0:
        raise FieldError(
            "hidden_size", f"({hidden_size}) is not a multiple of num_attention_heads ({num_heads})"
        )
    num_kv_heads = fields["num_key_value_heads"] or num_heads
    if num_heads % num_kv_heads != 0:
        raise FieldError(
            "num_attention_heads", f"({num_heads}) is not a multiple of num_key_value_heads ({num_kv_heads})"
        )
    head_dim = fields["head_dim"] or hidden_size // num_heads
    if head_dim % 2 != 0:
        raise FieldError("head_dim", f"is {head_dim}, but RoPE requires an even number")
    return num_heads, num_kv_heads, head_dim


def _activation(family: Family, fields: Mapping[str, Any]) -> Activation:
    key = "hidden_activation" if "hidden_activation" in fields else "hidden_act"
    name = fields[key]
    # The official files of Gemma 1 say "gelu", and mean the tanh approximation.
    activation = "gelu_tanh" if (family, name) == ("gemma", "gelu") else _ACTIVATIONS.get(name)
    if activation is None:
        raise FieldError(
            key,
            f"is {name!r}, which is not supported",
            f"Choose a model with one of these activations: {', '.join(_ACTIVATIONS)}.",
        )
    return activation


def _layer_windows(family: Family, fields: Mapping[str, Any]) -> tuple[int | None, ...]:
    is_short = _has_windows(family, fields)
    if family in ("gemma", "llama"):
        if any(is_short):
            raise FieldError("layer_types", f"has {SLIDING}, but layers of {family} have no windows")
        return (None,) * len(is_short)
    window = fields["sliding_window"] if fields.get("use_sliding_window", True) else None
    # Gemma's forward pass in transformers prepares the window even if no layer has one.
    if window is None and (any(is_short) or family != "qwen3"):
        raise FieldError("sliding_window", "is not set, but layers have a window")
    return tuple(window if short else None for short in is_short)


def _has_windows(family: Family, fields: Mapping[str, Any]) -> list[bool]:
    """Which layers attend within a window."""
    num_layers, types = fields["num_hidden_layers"], fields["layer_types"]
    if types is not None:
        if len(types) != num_layers:
            raise FieldError(
                "layer_types", f"has {len(types)} entries, but num_hidden_layers is {num_layers}"
            )
        if not all(kind in (FULL, SLIDING) for kind in types):
            raise FieldError(
                "layer_types",
                f"has other entries than {FULL} and {SLIDING}",
                "Choose a model whose layers have full attention or attention within a window.",
            )
        return [kind == SLIDING for kind in types]
    if family == "qwen3":
        has_windows = fields["use_sliding_window"] and fields["sliding_window"] is not None
        return [has_windows and layer >= fields["max_window_layers"] for layer in range(num_layers)]
    period = {"gemma2": 2, "gemma3": fields.get("sliding_window_pattern")}.get(family)
    return [period is not None and (layer + 1) % period != 0 for layer in range(num_layers)]


Shapes: TypeAlias = dict[str, Any]
"""Nested like the weights, with a tuple of sizes at every leaf."""


def param_shapes(architecture: Architecture) -> Shapes:
    """The shape of every weight, in the layout above."""
    vocab_size, hidden_size = architecture.vocab_size, architecture.hidden_size
    norms: dict[str, tuple[int, ...]] = dict.fromkeys(("attention_norm", "mlp_norm"), (hidden_size,))
    if architecture.has_post_norms:
        norms |= dict.fromkeys(("post_attention_norm", "post_mlp_norm"), (hidden_size,))
    if architecture.has_qk_norm:
        norms |= dict.fromkeys(("q_norm", "k_norm"), (architecture.head_dim,))
    layers = {
        name: (architecture.num_layers, *shape)
        for name, shape in (architecture.matrix_shapes | norms).items()
    }
    shapes = {"embedding": (vocab_size, hidden_size), "layers": layers, "final_norm": (hidden_size,)}
    return shapes if architecture.is_embedding_tied else shapes | {"head": (vocab_size, hidden_size)}


SINGLE_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"

MATRIX_MODULES: Mapping[str, str] = {
    "q": "self_attn.q_proj",
    "k": "self_attn.k_proj",
    "v": "self_attn.v_proj",
    "o": "self_attn.o_proj",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
}


@dataclass(frozen=True)
class WeightMapping:
    """One of our weights, and the Hugging Face tensors that hold it: one per layer, or a single one."""

    name: str
    hf_names: tuple[str, ...]
    is_stacked: bool
    """Whether it is in `layers`, stacked along the first axis."""
    is_transposed: bool

    def leaf_of(self, tree: Mapping[str, Any]) -> Any:
        """The leaf of this weight in a tree with the layout of the parameters."""
        return (tree["layers"] if self.is_stacked else tree)[self.name]


def weight_mappings(architecture: Architecture) -> Iterator[WeightMapping]:
    """Every weight of a model, tied ones once."""
    modules = {"attention_norm": "input_layernorm", **MATRIX_MODULES}
    if architecture.has_post_norms:
        modules |= {
            "post_attention_norm": "post_attention_layernorm",
            "mlp_norm": "pre_feedforward_layernorm",
            "post_mlp_norm": "post_feedforward_layernorm",
        }
    else:
        # The norm before the MLP, despite its name.
        modules |= {"mlp_norm": "post_attention_layernorm"}
    if architecture.has_qk_norm:
        modules |= {"q_norm": "self_attn.q_norm", "k_norm": "self_attn.k_norm"}
    yield WeightMapping("embedding", ("model.embed_tokens.weight",), False, False)
    for name, module in modules.items():
        names = tuple(f"model.layers.{layer}.{module}.weight" for layer in range(architecture.num_layers))
        yield WeightMapping(name, names, True, name in MATRIX_MODULES)
    yield WeightMapping("final_norm", ("model.norm.weight",), False, False)
    if not architecture.is_embedding_tied:
        yield WeightMapping("head", ("lm_head.weight",), False, False)
