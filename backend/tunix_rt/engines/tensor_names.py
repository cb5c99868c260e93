"""What Hugging Face calls the tensors of a decoder.

ours                           there (matrices are [out, in], the transpose of ours)
embedding                      model.embed_tokens.weight
layers / q, …                  model.layers.<i>.self_attn.q_proj.weight, …
final_norm                     model.norm.weight
head                           lm_head.weight
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tunix_rt.engines.architecture import Architecture

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
class TensorPlace:
    """One weight of ours, and the tensors that it is made of there: one a layer, or a single one."""

    name: str
    hf_names: tuple[str, ...]
    is_stacked: bool
    """Whether it is one of `layers`, with the layer on the first axis."""
    is_transposed: bool

    def leaf_of(self, tree: Mapping[str, Any]) -> Any:
        """What a tree like the parameters holds for this weight."""
        return (tree["layers"] if self.is_stacked else tree)[self.name]


def tensor_places(architecture: Architecture) -> Iterator[TensorPlace]:
    """Every weight of a model, tied ones once."""
    yield TensorPlace("embedding", ("model.embed_tokens.weight",), False, False)
    for name, module in _layer_modules(architecture).items():
        names = tuple(f"model.layers.{layer}.{module}.weight" for layer in range(architecture.num_layers))
        yield TensorPlace(name, names, True, name in MATRIX_MODULES)
    yield TensorPlace("final_norm", ("model.norm.weight",), False, False)
    if not architecture.is_embedding_tied:
        yield TensorPlace("head", ("lm_head.weight",), False, False)


def _layer_modules(architecture: Architecture) -> dict[str, str]:
    modules = {"attention_norm": "input_layernorm", **MATRIX_MODULES}
    if architecture.has_post_norms:
        modules |= {
            "post_attention_norm": "post_attention_layernorm",
            "mlp_norm": "pre_feedforward_layernorm",
            "post_mlp_norm": "post_feedforward_layernorm",
        }
    else:
        # The norm before the MLP, in spite of its name there.
        modules |= {"mlp_norm": "post_attention_layernorm"}
    if architecture.has_qk_norm:
        modules |= {"q_norm": "self_attn.q_norm", "k_norm": "self_attn.k_norm"}
    return modules
