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

Family = Literal["gemma", "gemma2", "gemma3", "llama", "qwen3"]

_FAMILIES: Mapping[str, Family] = {
    "gemma": "gemma",
    "gemma2": "gemma2",
    "gemma3_text": "gemma3",
    "llama": "llama",
    "qwen3": "qwen3",
}

# Keys that a config.json may omit, with the defaults of transformers; the first Gemma 3 configs on the hub
# have little more than their sizes.
_DEFAULTS: Mapping[Family, Mapping[str, Any]] = {
    "gemma": {"head_dim": 256},
    "gemma2": {
        "head_dim": 256,
        "query_pre_attn_scalar": 256,
        "sliding_window": 4096,
        "attn_logit_softcapping": 50.0,
        "final_logit_softcapping": 30.0,
    },
    "gemma3": {
        "vocab_size": 262_208,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "max_position_embeddings": 131_072,
        "query_pre_attn_scalar": 256,
        "sliding_window": 4096,
        "rope_theta": 1_000_000.0,
    },
    "llama": {},
    "qwen3": {"head_dim": 128},
}


@dataclass(frozen=True)
class RopeScaling:
    """How positions are scaled beyond the pretraining length."""

    kind: Literal["linear", "llama3"]
    factor: float
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_max_positions: int = 8192


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
    rope_theta: float
    rope_scaling: RopeScaling | None
    local_rope_theta: float | None
    """RoPE base of the layers with a window (Gemma 3), which are never scaled. None: `rope_theta`."""
    layer_windows: tuple[int | None, ...]
    """Attention window per layer, in tokens including the token itself; None: all of them."""
    attention_scale: float
    attention_softcap: float | None
    final_softcap: float | None
    activation: Literal["gelu_tanh", "silu"]
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
    """Read the `config.json` of a supported model.

    Raises:
        InvalidInputError: The family, or something that the config requires, is not supported.
    """
    config = config.get("text_config", config) if config.get("model_type") == "gemma3" else config
    model_type = config.get("model_type")
    family = _FAMILIES.get(str(model_type))
    if family is None:
        raise InvalidInputError(
            f"Models of type {model_type!r} are not supported.",
            next_step="Use a Gemma 1, 2 or 3 text model, Llama (SmolLM2 is one), or Qwen3.",
        )
    try:
        return _read(family, config)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"The config.json of this {model_type} model cannot be used: {error}.",
            next_step="Download the model again, or choose another one.",
        ) from error


def _read(family: Family, config: Mapping[str, Any]) -> Architecture:
    for key in ("attention_bias", "mlp_bias", "use_bidirectional_attention"):
        if config.get(key):
            raise ValueError(f"{key} is not supported")
    if config.get("quantization_config"):
        raise ValueError("the weights are already quantised; start from the original ones")
    config = {**_DEFAULTS[family], **config}
    is_gemma = family.startswith("gemma")
    num_heads, hidden_size = int(config["num_attention_heads"]), int(config["hidden_size"])
    head_dim = int(config.get("head_dim") or hidden_size // num_heads)
    rope = _global_rope(config)
    scale_base = float(config.get("query_pre_attn_scalar") or head_dim) if is_gemma else float(head_dim)
    return Architecture(
        family=family,
        vocab_size=int(config["vocab_size"]),
        hidden_size=hidden_size,
        intermediate_size=int(config["intermediate_size"]),
        num_layers=int(config["num_hidden_layers"]),
        num_heads=num_heads,
        num_kv_heads=int(config.get("num_key_value_heads") or num_heads),
        head_dim=head_dim,
        max_positions=int(config.get("max_position_embeddings", 8192)),
        rms_norm_eps=float(config.get("rms_norm_eps", 1e-6)),
        rope_theta=float(rope.get("rope_theta", 10_000.0)),
        rope_scaling=_rope_scaling(rope),
        local_rope_theta=_local_theta(config) if family == "gemma3" else None,
        layer_windows=_layer_windows(family, config),
        attention_scale=1.0 / math.sqrt(scale_base),
        attention_softcap=_optional_float(config, "attn_logit_softcapping"),
        final_softcap=_optional_float(config, "final_logit_softcapping"),
        activation="gelu_tanh" if is_gemma else "silu",
        is_embedding_tied=bool(config.get("tie_word_embeddings", is_gemma)),
        scales_embedding=is_gemma,
        norms_add_one=is_gemma,
        has_post_norms=family in ("gemma2", "gemma3"),
        has_qk_norm=family in ("gemma3", "qwen3"),
    )


def _global_rope(config: Mapping[str, Any]) -> dict[str, Any]:
    """Rope settings of the layers without a window.

    transformers 5 writes `rope_parameters`, per layer type for Gemma 3; older files write `rope_theta` and
    `rope_scaling`.
    """
    parameters = config.get("rope_parameters") or {}
    if "full_attention" in parameters:
        parameters = parameters["full_attention"]
    theta = {"rope_theta": config.get("rope_theta", 10_000.0)}
    return theta | dict(parameters or config.get("rope_scaling") or {})


def _local_theta(config: Mapping[str, Any]) -> float:
    parameters = (config.get("rope_parameters") or {}).get("sliding_attention") or {}
    return float(parameters.get("rope_theta") or config.get("rope_local_base_freq") or 10_000.0)


def _rope_scaling(rope: Mapping[str, Any]) -> RopeScaling | None:
    kind = rope.get("rope_type") or rope.get("type") or "default"
    if kind == "default":
        return None
    if kind == "linear":
        return RopeScaling("linear", float(rope["factor"]))
    if kind == "llama3":
        return RopeScaling(
            "llama3",
            factor=float(rope["factor"]),
            low_freq_factor=float(rope["low_freq_factor"]),
            high_freq_factor=float(rope["high_freq_factor"]),
            original_max_positions=int(rope["original_max_position_embeddings"]),
        )
    raise ValueError(f"the RoPE scaling {kind!r} is not supported")


def _layer_windows(family: Family, config: Mapping[str, Any]) -> tuple[int | None, ...]:
    num_layers = int(config["num_hidden_layers"])
    window = config.get("sliding_window")
    has_windows = family in ("gemma2", "gemma3") or bool(config.get("use_sliding_window"))
    if not has_windows or window is None:
        return (None,) * num_layers
    types = config.get("layer_types")
    if types is not None:
        has_window = [kind == "sliding_attention" for kind in types]
    elif family == "qwen3":
        first = int(config.get("max_window_layers", 28))
        has_window = [layer >= first for layer in range(num_layers)]
    else:
        period = 2 if family == "gemma2" else int(config.get("sliding_window_pattern", 6))
        has_window = [(layer + 1) % period != 0 for layer in range(num_layers)]
    return tuple(int(window) if is_short else None for is_short in has_window)


def _optional_float(config: Mapping[str, Any], key: str) -> float | None:
    value = config.get(key)
    return None if value is None else float(value)


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
