"""Safetensors to device arrays and back; PEFT adapters.

Adapters have other names and axes in the files of PEFT:

    ours                      in a file of PEFT
    layers / q / a [in, r]    base_model.model.model.layers.<i>.self_attn.q_proj.lora_A.weight [r, in]
    layers / q / b [r, out]   base_model.model.model.layers.<i>.self_attn.q_proj.lora_B.weight [out, r]
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.experimental import multihost_utils
from jax.sharding import Sharding, SingleDeviceSharding
from jax.typing import DTypeLike
from numpy.typing import NDArray

from tunix_rt.engines.jax.model.lora import Adapter, Adapters, merge_matrix
from tunix_rt.engines.jax.model.params import Params
from tunix_rt.engines.jax.model.quantization import plain_matrix
from tunix_rt.engines.weights.adapters import (
    WEIGHTS_FILE,
    adapter_tensor_name,
    open_adapter,
    write_adapter_config,
)
from tunix_rt.engines.weights.architecture import Architecture, WeightMapping, param_shapes, weight_mappings
from tunix_rt.engines.weights.safetensors import (
    FORMATS,
    MAX_SHARD_BYTES,
    LazyTensor,
    StoredTensor,
    check_tensors,
    open_tensors,
    text_tensors,
    write_model_files,
    write_tensor_file,
)
from tunix_rt.recipes.types import LoraSection


def save_params(
    directory: Path,
    params: Params,
    architecture: Architecture,
    *,
    adapters: Adapters | None = None,
    adapter_scale: float = 1.0,
    max_shard_bytes: int = MAX_SHARD_BYTES,
) -> None:
    """Write the weights under their Hugging Face names, in the format of the embedding.

    Adapters are merged in float32 and rounded once; quantised matrices are dequantised. Every process of a
    run must call this, because a tensor may be sharded over all of them; process 0 writes.
    """
    tensors = list(_lazy_tensors(params, architecture, adapters, adapter_scale))
    if jax.process_index() == 0:
        write_model_files(directory, tensors, max_shard_bytes=max_shard_bytes)
    else:
        for tensor in tensors:
            tensor.fetch()


def _fetch_layer(
    weights: Any,
    layer: int,
    *,
    dtype: np.dtype[Any],
    is_transposed: bool,
    adapters: Adapter | None = None,
    adapter_scale: float = 1.0,
) -> NDArray[Any]:
    """One layer of a weight on the host with its adapter merged, [out, in] if transposed.

    `weights` is a stack or a list of layers; `adapters` is stacked.
    """
    weight = weights[layer] if isinstance(weights, list) else _layer_of(weights, layer)
    adapter = None if adapters is None else _layer_of(adapters, layer)
    return _fetch(_export_matrix(weight, adapter, adapter_scale, dtype, is_transposed), dtype)


def _fetch(array: Array, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The whole array on the host, gathered from all processes if needed."""
    is_here = array.is_fully_addressable or array.is_fully_replicated
    whole = array if is_here else multihost_utils.process_allgather(array, tiled=True)
    return np.asarray(whole).astype(dtype, copy=False)


def _lazy_tensors(
    params: Params, architecture: Architecture, adapters: Adapters | None, adapter_scale: float
) -> Iterator[LazyTensor]:
    dtype = np.dtype(params["embedding"].dtype)
    for place in weight_mappings(architecture):
        if not place.is_stacked:
            array = params[place.name]
            fetch = partial(_fetch, array, dtype)
            yield LazyTensor(place.hf_names[0], array.shape, FORMATS[dtype.name], fetch)
            continue
        layers = params["layers"]
        # A list of layers if they are unstacked, else a stack.
        weights = [one[place.name] for one in layers] if isinstance(layers, list) else layers[place.name]
        get = partial(
            _fetch_layer,
            weights,
            dtype=dtype,
            is_transposed=place.is_transposed,
            adapters=adapters["layers"].get(place.name) if adapters is not None else None,
            adapter_scale=adapter_scale,
        )
        shape = weights[0].shape if isinstance(weights, list) else weights.shape[1:]
        stored_shape = shape[::-1] if place.is_transposed else shape
        for layer, name in enumerate(place.hf_names):
            yield LazyTensor(name, stored_shape, FORMATS[dtype.name], partial(get, layer))


@jax.jit
def _layer_of(stack: Any, layer: int) -> Any:
    """One layer of a stacked tree; compiled once for all layers."""
    return jax.tree.map(lambda leaf: leaf[layer], stack)


@partial(jax.jit, static_argnums=(2, 3, 4))
def _export_matrix(
    weight: Any, adapter: Any, scale: float, dtype: np.dtype[Any], is_transposed: bool
) -> Array:
    is_plain = adapter is None
    matrix = plain_matrix(weight, dtype) if is_plain else merge_matrix(weight, adapter, scale, dtype)
    return matrix.T if is_transposed else matrix


def save_adapters(
    directory: Path, adapters: Adapters, lora: LoraSection, *, base_model: str, revision: str | None = None
) -> None:
    """Write adapters for `peft.PeftModel.from_pretrained(base, directory)`.

    Args:
        directory: An existing directory.
        adapters: The trained matrices.
        lora: The recipe's section: rank, alpha, dropout.
        base_model: Hub id or directory of the base model.
        revision: Commit of the base model on the hub.
    """
    fetch = partial(_fetch_layer, dtype=np.dtype("float32"), is_transposed=True)
    tensors = [
        LazyTensor(
            adapter_tensor_name(layer, target, part),
            stack.shape[1:][::-1],
            "F32",
            partial(fetch, stack, layer),
        )
        for target, adapter in adapters["layers"].items()
        for part, stack in (("a", adapter["a"]), ("b", adapter["b"]))
        for layer in range(stack.shape[0])
    ]
    if jax.process_index() != 0:
        for tensor in tensors:
            tensor.fetch()
        return
    write_tensor_file(directory / WEIGHTS_FILE, tensors)
    write_adapter_config(directory, lora, base_model=base_model, revision=revision)


def load_adapters(directory: Path, architecture: Architecture) -> tuple[Adapters, LoraSection]:
    """Read adapters that PEFT or `save_adapters` wrote.

    Raises:
        DataError: A file is missing or damaged, does not fit the architecture, or has a type of adapter that
            this engine does not support.
    """
    with open_adapter(directory, architecture) as (lora, tensors):
        layers: dict[str, Adapter] = {
            target: {
                "a": _read_stack(tensors, target, "a", architecture.num_layers),
                "b": _read_stack(tensors, target, "b", architecture.num_layers),
            }
            for target in lora.targets
        }
    return {"layers": layers}, lora


def _read_stack(tensors: Mapping[str, StoredTensor], target: str, part: str, num_layers: int) -> Array:
    """One matrix of every layer, [L, in, r] or [L, r, out]."""
    matrices = [tensors[adapter_tensor_name(layer, target, part)].read().T for layer in range(num_layers)]
    return jnp.asarray(np.stack(matrices), jnp.float32)


Index: TypeAlias = tuple[slice, ...]

# Rows that are cast and transposed at a time: few enough to stay in the CPU cache.
_ROWS_PER_COPY = 256


def load_params(
    directory: Path,
    architecture: Architecture,
    dtype: DTypeLike,
    shardings: Any = None,
    *,
    convert: Callable[[str, Array], Any] = lambda _, array: array,
) -> Params:
    """Read the weights of a model directory.

    Only one stacked tensor at a time is in host memory, and only the blocks that this process's devices hold.

    Args:
        directory: Contains `model.safetensors`, or shards with an index.
        architecture: The architecture in its `config.json`.
        dtype: Format of the arrays; stored float32, bfloat16 and float16 are converted.
        shardings: A tree like the result with a sharding at every leaf. None: the first local device.
        convert: Converts each weight, given its name (`q`, `embedding`, …), before the next one is read, so
            that the unquantised model is never on the devices as a whole.

    Raises:
        DataError: A file is damaged, or its tensors do not match the architecture.
    """
    with open_tensors(directory) as stored:
        tensors = text_tensors(stored)
        check_tensors(tensors, architecture, directory)
        params: Params = {"layers": {}}
        for place in weight_mappings(architecture):
            shape = place.leaf_of(param_shapes(architecture))
            sharding = place.leaf_of(shardings) if shardings is not None else None
            parts = [tensors[name] for name in place.hf_names]
            array = _load_array(parts, place, shape, dtype, sharding)
            (params["layers"] if place.is_stacked else params)[place.name] = convert(place.name, array)
            del array
    return params


def _load_array(
    parts: Sequence[StoredTensor],
    place: WeightMapping,
    shape: tuple[int, ...],
    dtype: DTypeLike,
    sharding: Sharding | None,
) -> Array:
    blocks: dict[str, NDArray[Any]] = {}

    def read(index: Index | None) -> NDArray[Any]:
        assert index is not None
        # Explicit bounds of every slice: `[:]` of 8 rows is `[0:8]`.
        bounds = tuple(slice(*part.indices(size)[:2]) for part, size in zip(index, shape, strict=True))
        # Devices that hold the same block request it one after the other.
        if str(bounds) not in blocks:
            blocks[str(bounds)] = _read_block(parts, place, bounds, np.dtype(dtype))
        return blocks[str(bounds)]

    return jax.make_array_from_callback(shape, sharding or SingleDeviceSharding(jax.local_devices()[0]), read)


def _read_block(
    parts: Sequence[StoredTensor], place: WeightMapping, index: Index, dtype: np.dtype[Any]
) -> NDArray[Any]:
    """A block of one weight [in, out], with the layers on the first axis if it is stacked."""
    block = np.empty([part.stop - part.start for part in index], dtype)
    if not place.is_stacked:
        _copy(parts[0], index, block)
        return block
    layers, *inner = index
    for target, part in zip(block, parts[layers], strict=True):
        is_transposed = place.is_transposed
        _copy(part, inner[::-1] if is_transposed else inner, target.T if is_transposed else target)
    return block


def _copy(tensor: StoredTensor, index: Sequence[slice], target: NDArray[Any]) -> None:
    """Copy a block of a tensor to `target`, some rows at a time, in the format of the target."""
    rows, *columns = index
    for start in range(rows.start, rows.stop, _ROWS_PER_COPY):
        part = slice(start, min(start + _ROWS_PER_COPY, rows.stop))
        values = tensor.read(part, *columns)
        target[part.start - rows.start : part.stop - rows.start] = values.astype(target.dtype)
