"""What is about to run, in one block, read from the objects that will run it."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import jax

from tunix_rt.engines.jax.devices import DeviceChoice
from tunix_rt.engines.jax.program import Program
from tunix_rt.engines.preparation import Prepared
from tunix_rt.engines.sanity import batch_line, block, data_line, logits_text, mib, model_line, training_line

NUM_LARGEST = 3


def sanity_block(program: Program, prepared: Prepared, choice: DeviceChoice) -> str:
    """The block: one line a subject."""
    tokens = program.abstract_batch["tokens"]
    lines = {
        "model": model_line(prepared, _num_elements(program.abstract_state.trainable)),
        "training": training_line(program.recipe),
        "precision": _precision(program),
        "batch": batch_line(prepared, tokens.shape, str(tokens.dtype)),
        "data": data_line(prepared),
        "attention": f"{program.attention.kernel} ({program.attention.reason})",
        "devices": str(choice),
        "mesh": " x ".join(f"{axis} {size}" for axis, size in program.mesh.shape.items()),
        "largest": ", ".join(largest_buffers(program)),
    }
    return block(lines)


def _precision(program: Program) -> str:
    params, state = program.abstract_params, program.abstract_state
    rounding = ", stochastic rounding" if program.recipe.training.precision.stochastic_rounding else ""
    return (
        f"compute {program.options.compute_dtype}, weights {_dtypes(params)}, "
        f"trained {_dtypes(state.trainable)}, optimizer state {_dtypes(state.optimizer_state)}{rounding}"
    )


def largest_buffers(program: Program) -> Iterator[str]:
    """The largest arrays of the state, and the logits that exist at one time; sizes per device."""
    leaves = jax.tree_util.tree_leaves_with_path((program.abstract_state, program.abstract_frozen))
    sized = sorted(
        ((_bytes_per_device(leaf), path, leaf) for path, leaf in leaves), key=lambda item: -item[0]
    )
    for size, path, leaf in sized[:NUM_LARGEST]:
        name = jax.tree_util.keystr(path[1:], simple=True, separator=".")
        yield f"{name} {list(leaf.shape)} {leaf.dtype} {mib(size)}"
    tokens = program.abstract_batch["tokens"]
    _, rows, _ = tokens.sharding.shard_shape(tokens.shape)
    yield logits_text(program.recipe, program.architecture, rows=rows)


def _num_elements(tree: Any) -> int:
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(tree))


def _bytes_per_device(leaf: Any) -> int:
    num_elements: int = math.prod(leaf.sharding.shard_shape(leaf.shape))
    return num_elements * int(leaf.dtype.itemsize)


def _dtypes(tree: Any) -> str:
    """The formats of the numbers in a tree; counters are not worth mentioning."""
    found: Iterable[str] = {str(leaf.dtype) for leaf in jax.tree.leaves(tree) if leaf.ndim}
    return " and ".join(sorted(found)) or "none"
