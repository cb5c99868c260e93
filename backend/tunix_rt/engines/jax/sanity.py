"""What is about to run, in one block, read from the objects that will run it."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import jax

from tunix_rt.engines.jax.devices import DeviceChoice
from tunix_rt.engines.jax.program import Program
from tunix_rt.engines.preparation import Prepared

NUM_LARGEST = 3


def sanity_block(program: Program, prepared: Prepared, choice: DeviceChoice) -> str:
    """The block: one line a subject."""
    lines = {
        "model": _model(program, prepared),
        "training": _training(program),
        "precision": _precision(program),
        "batch": _batch(program, prepared),
        "data": _data(prepared),
        "attention": f"{program.attention.kernel} ({program.attention.reason})",
        "devices": str(choice),
        "mesh": " x ".join(f"{axis} {size}" for axis, size in program.mesh.shape.items()),
        "largest": ", ".join(largest_buffers(program)),
    }
    return "\n".join(f"{subject:<10} {text}" for subject, text in lines.items())


def _model(program: Program, prepared: Prepared) -> str:
    architecture = program.architecture
    num_trained = sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(program.abstract_state.trainable))
    return (
        f"{prepared.source.name} ({architecture.family}): {architecture.num_layers} layers, "
        f"hidden {architecture.hidden_size:,}, vocabulary {architecture.vocab_size:,}; "
        f"{architecture.num_parameters:,} weights, {num_trained:,} trained"
    )


def _training(program: Program) -> str:
    training = program.recipe.training
    return (
        f"{training.mode}, {training.optimizer.name}, learning rate {training.learning_rate:g} "
        f"{training.schedule}, remat {training.remat}, "
        f"buffers {'donated' if training.donate_buffers else 'not donated'}"
    )


def _precision(program: Program) -> str:
    params, state = program.abstract_params, program.abstract_state
    rounding = ", stochastic rounding" if program.recipe.training.precision.stochastic_rounding else ""
    return (
        f"compute {program.options.compute_dtype}, weights {_dtypes(params)}, "
        f"trained {_dtypes(state.trainable)}, optimizer state {_dtypes(state.optimizer_state)}{rounding}"
    )


def _batch(program: Program, prepared: Prepared) -> str:
    tokens = program.abstract_batch["tokens"]
    parts, rows, length = tokens.shape
    batches = prepared.batches
    trained = batches.num_trained_tokens_per_epoch / batches.num_batches_per_epoch
    return (
        f"{parts} x {rows} rows of {length} tokens ({tokens.dtype}), {batches.fill_ratio:.1%} filled, "
        f"{trained:,.0f} trained tokens a step"
    )


def _data(prepared: Prepared) -> str:
    batches = prepared.batches
    dropped = f" ({batches.num_dropped:,} too long, left out)" if batches.num_dropped else ""
    return (
        f"{prepared.data.name}/{prepared.data.train.split}: {batches.num_examples:,} examples{dropped}, "
        f"{batches.num_batches_per_epoch:,} batches an epoch, {prepared.num_steps:,} steps = "
        f"{prepared.epoch_after(prepared.num_steps):.2f} epochs"
    )


def largest_buffers(program: Program) -> Iterator[str]:
    """The largest arrays of the state, and the logits that exist at one time; sizes per device."""
    leaves = jax.tree_util.tree_leaves_with_path((program.abstract_state, program.abstract_frozen))
    sized = sorted(
        ((_bytes_per_device(leaf), path, leaf) for path, leaf in leaves), key=lambda item: -item[0]
    )
    for size, path, leaf in sized[:NUM_LARGEST]:
        name = jax.tree_util.keystr(path[1:], simple=True, separator=".")
        yield f"{name} {list(leaf.shape)} {leaf.dtype} {_mib(size)}"
    yield _logits(program)


def _logits(program: Program) -> str:
    _, rows, length = program.abstract_batch["tokens"].sharding.shard_shape(
        program.abstract_batch["tokens"].shape
    )
    chunk = program.recipe.training.loss_chunk_tokens
    num_tokens = rows * length if chunk is None else min(rows * length, max(rows, chunk))
    vocabulary = program.architecture.vocab_size
    return f"logits [{num_tokens}, {vocabulary}] float32 {_mib(num_tokens * vocabulary * 4)}"


def _bytes_per_device(leaf: Any) -> int:
    num_elements: int = math.prod(leaf.sharding.shard_shape(leaf.shape))
    return num_elements * int(leaf.dtype.itemsize)


def _dtypes(tree: Any) -> str:
    """The formats of the numbers in a tree; counters are not worth mentioning."""
    found: Iterable[str] = {str(leaf.dtype) for leaf in jax.tree.leaves(tree) if leaf.ndim}
    return " and ".join(sorted(found)) or "none"


def _mib(num_bytes: int) -> str:
    return f"{num_bytes / 2**20:,.1f} MiB"
