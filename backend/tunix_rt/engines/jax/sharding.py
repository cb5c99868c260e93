"""Mesh and the sharding of every tensor.

    data     copies of the model, each with its rows of the batch
    fsdp     shards of weights, gradients and optimizer state, each with its rows of the batch
    tensor   shards of every matrix product: outputs of q, k, v, gate, up; inputs of o, down; the vocabulary

Stacked matrices are never sharded along the layer axis: a layer is gathered when it is computed, and freed
afterwards.
"""

import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.experimental import mesh_utils
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.jax.model.params import KeyPath, is_norm, names_of, num_matrix_axes
from tunix_rt.engines.jax.model.quantization import QuantizedMatrix
from tunix_rt.engines.planning.limits import mesh_shape
from tunix_rt.engines.weights.architecture import Architecture
from tunix_rt.recipes.types import ShardingSection

AXES = ("data", "fsdp", "tensor")
ROW_AXES = ("data", "fsdp")

_INPUTS, _OUTPUTS = -2, -1
_TENSOR_AXIS = dict.fromkeys(("q", "k", "v", "gate", "up"), _OUTPUTS) | {"o": _INPUTS, "down": _INPUTS}
_VOCABULARY_TENSORS = ("embedding", "head")
# The long axis of an adapter: `a` has the inputs of its matrix, `b` the outputs.
_ADAPTER_AXIS = {"a": _INPUTS, "b": _OUTPUTS}


def make_mesh(section: ShardingSection, devices: Sequence[Any]) -> Mesh:
    """Build the mesh of the recipe, which may use fewer devices than there are.

    Raises:
        InvalidInputError: The sizes need more devices, or do not divide their number.
    """
    shape = mesh_shape(section, len(devices))
    sizes = (shape.data, shape.fsdp, shape.tensor)
    if shape.num_devices < len(devices):
        if len({device.process_index for device in devices}) > 1:
            raise InvalidInputError(
                f"The sharding uses {shape.num_devices} of {len(devices)} devices, "
                "and a process would have none.",
                next_step="With several processes, choose sizes that use every device.",
            )
        grid = np.asarray(devices[: shape.num_devices]).reshape(sizes)
    else:
        grid = mesh_utils.create_device_mesh(sizes, devices)
    return Mesh(grid, AXES, axis_types=(AxisType.Auto,) * len(AXES))


def state_shardings(tree: Any, mesh: Mesh, architecture: Architecture) -> Any:
    """A NamedSharding for every leaf of a training state or of a parameter tree.

    Adapters, optimizer moments and quantised matrices follow the weight whose name they have.
    """

    def sharding_of(path: KeyPath, leaf: Any) -> Any:
        if not isinstance(leaf, QuantizedMatrix):
            return NamedSharding(mesh, _spec(path, leaf.shape, mesh, architecture))
        # A spec that divides the scales keeps blocks whole, so it also fits the codes.
        sharding = NamedSharding(mesh, _spec(path, leaf.scales.shape, mesh, architecture))
        return jax.tree.map(lambda _: sharding, leaf)

    return jax.tree.map_with_path(sharding_of, tree, is_leaf=lambda leaf: isinstance(leaf, QuantizedMatrix))


def _spec(path: KeyPath, shape: tuple[int, ...], mesh: Mesh, architecture: Architecture) -> PartitionSpec:
    """Shard matrices over `tensor` and `fsdp`; replicate everything else."""
    names = names_of(path)
    if is_norm(path) or not names or len(shape) != num_matrix_axes(path):
        return PartitionSpec()
    if names[-1] in _VOCABULARY_TENSORS:
        # [V, D] is sharded along the vocabulary only, so that the loss communicates hidden states, not the
        # embedding. Sharded along D, every device would gather the embedding and sum its whole gradient.
        for parts in (("fsdp", "tensor"), ("fsdp",), ("tensor",)):
            if shape[0] % math.prod(mesh.shape[axis] for axis in parts) == 0:
                return PartitionSpec(parts)
        return PartitionSpec()
    axes: list[str | None] = [None] * len(shape)
    tensor_axis, fsdp_axis = _matrix_axes(names, architecture, mesh.shape["tensor"])
    if tensor_axis is not None and shape[tensor_axis] % mesh.shape["tensor"] == 0:
        axes[tensor_axis] = "tensor"
    for axis in (fsdp_axis, _other_axis(fsdp_axis)):
        if axes[axis] is None and shape[axis] % mesh.shape["fsdp"] == 0:
            axes[axis] = "fsdp"
            break
    return PartitionSpec(*axes)


def _matrix_axes(
    names: tuple[str, ...], architecture: Architecture, num_parts: int
) -> tuple[int | None, int]:
    """The matrix axes that `tensor` (None if it does not shard this matrix) and `fsdp` shard.

    `fsdp` prefers the hidden size, or the long axis of an adapter. `tensor` shards one side of an adapter,
    and never splits a head: keys and values with too few heads are replicated.
    """
    long_axis = _ADAPTER_AXIS.get(names[-1])
    target = names[-1] if long_axis is None else names[-2]
    split = _TENSOR_AXIS[target]
    is_split = num_parts > 1 and not (target in ("k", "v") and architecture.num_kv_heads % num_parts)
    if long_axis is None:
        return (split if is_split else None), _other_axis(split)
    return (split if is_split and long_axis == split else None), long_axis


def _other_axis(axis: int) -> int:
    return _OUTPUTS if axis == _INPUTS else _INPUTS


def batch_sharding(mesh: Mesh) -> NamedSharding:
    """[accumulation, rows, tokens]: rows over data and fsdp."""
    return NamedSharding(mesh, PartitionSpec(None, ROW_AXES))


def activation_sharding(mesh: Mesh) -> NamedSharding:
    """[rows, tokens, hidden]: rows over data and fsdp, so that weights are communicated, not activations."""
    return NamedSharding(mesh, PartitionSpec(ROW_AXES))


def replicated(mesh: Mesh) -> NamedSharding:
    """A copy on every device."""
    return NamedSharding(mesh, PartitionSpec())
