"""The shape of every weight of a decoder. No accelerator library is needed.

Matrices are [in, out]. V vocabulary, D hidden, N heads, K key/value heads, H head size, F width of the MLP:

    embedding   [V, D]
    layers      attention_norm [L, D]    q [L, D, N*H]    k, v [L, D, K*H]    o [L, N*H, D]
                mlp_norm       [L, D]    gate, up [L, D, F]                   down [L, F, D]
                post_attention_norm, post_mlp_norm [L, D]    q_norm, k_norm [L, H]  (some families)
    final_norm  [D]
    head        [V, D]                   where it is not tied to the embedding
"""

from typing import Any, TypeAlias

from tunix_rt.engines.architecture import Architecture

Shapes: TypeAlias = dict[str, Any]
"""Nested like the weights, with a tuple of sizes at every leaf."""


def param_shapes(architecture: Architecture) -> Shapes:
    """The shape of every weight, in the layout drawn above."""
    vocab_size, hidden_size = architecture.vocab_size, architecture.hidden_size
    layers = {
        name: (architecture.num_layers, *shape)
        for name, shape in (architecture.matrix_shapes | _norm_shapes(architecture)).items()
    }
    shapes = {"embedding": (vocab_size, hidden_size), "layers": layers, "final_norm": (hidden_size,)}
    return shapes if architecture.is_embedding_tied else shapes | {"head": (vocab_size, hidden_size)}


def _norm_shapes(architecture: Architecture) -> dict[str, tuple[int]]:
    names = ["attention_norm", "mlp_norm"]
    names += ["post_attention_norm", "post_mlp_norm"] if architecture.has_post_norms else []
    head_norms = ["q_norm", "k_norm"] if architecture.has_qk_norm else []
    return {name: (architecture.hidden_size,) for name in names} | {
        name: (architecture.head_dim,) for name in head_norms
    }
