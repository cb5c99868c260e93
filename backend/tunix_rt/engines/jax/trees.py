"""Which tensor a leaf of a tree belongs to, told by the names on its path."""

import itertools
from typing import Any, TypeAlias

from jax.tree_util import DictKey, SequenceKey

KeyPath: TypeAlias = tuple[Any, ...]
"""What jax.tree.map_with_path gives beside a leaf."""


def names_of(path: KeyPath) -> tuple[str, ...]:
    """The dict keys on the way to a leaf.

    Moments of the optimizer hang below other nodes, but carry the names of the weight they belong to:

        state.optimizer_state[0].mu["layers"]["q"]  ->  ("layers", "q")
    """
    return tuple(str(key.key) for key in path if isinstance(key, DictKey))


def is_norm(path: KeyPath) -> bool:
    """Whether a leaf is, or belongs to, the weight of a norm.

    The shape does not tell: stacked over the layers, the vector of a norm has two axes like a matrix.
    """
    return any(name.endswith("norm") for name in names_of(path))


def num_matrix_axes(path: KeyPath) -> int:
    """Axes of a matrix at this place: in stacked layers a leading one walks over the layers."""
    return 3 if "layers" in names_of(path) and not _is_in_a_list_of_layers(path) else 2


def _is_in_a_list_of_layers(path: KeyPath) -> bool:
    return any(
        key == DictKey("layers") and isinstance(after, SequenceKey) for key, after in itertools.pairwise(path)
    )
