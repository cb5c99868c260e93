"""Weights out: a tree of arrays to Hugging Face safetensors, tensor by tensor, adapters merged on the way."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import Array
from jax.experimental import multihost_utils
from numpy.typing import NDArray

from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.jax.linear import Adapter
from tunix_rt.engines.jax.lora import Adapters, merge_matrix
from tunix_rt.engines.jax.params import Params
from tunix_rt.engines.jax.quantization import plain_matrix
from tunix_rt.engines.safetensors_writer import FORMATS, MAX_SHARD_BYTES, LazyTensor, write_model_files
from tunix_rt.engines.tensor_names import TensorPlace, tensor_places


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

    Adapters are added in float32 and rounded once; quantised matrices are written as the numbers they stand
    for. Every process of a run must call this, because a tensor may be spread over all of them; the first
    one writes.
    """
    tensors = list(_lazy_tensors(params, architecture, adapters, adapter_scale))
    if jax.process_index() == 0:
        write_model_files(directory, tensors, max_shard_bytes=max_shard_bytes)
    else:
        for tensor in tensors:
            tensor.fetch()


def fetch_layer(
    weights: Any,
    layer: int,
    *,
    dtype: np.dtype[Any],
    is_transposed: bool,
    adapters: Adapter | None = None,
    adapter_scale: float = 1.0,
) -> NDArray[Any]:
    """One layer of a weight on the host, its adapter added, [out, in] if it is transposed.

    `weights` is a stack over the layers, or a list of them; `adapters` is stacked.
    """
    weight = weights[layer] if isinstance(weights, list) else _one_of(weights, layer)
    adapter = None if adapters is None else _one_of(adapters, layer)
    return _fetch(_as_written(weight, adapter, adapter_scale, dtype, is_transposed))


def _fetch(array: Array) -> NDArray[Any]:
    """The whole of an array on the host, wherever its parts are."""
    if array.is_fully_addressable or array.is_fully_replicated:
        return np.asarray(array)
    gathered: NDArray[Any] = multihost_utils.process_allgather(array, tiled=True)
    return gathered


def _lazy_tensors(
    params: Params, architecture: Architecture, adapters: Adapters | None, adapter_scale: float
) -> Iterator[LazyTensor]:
    dtype = np.dtype(params["embedding"].dtype)
    for place in tensor_places(architecture):
        if not place.is_stacked:
            array = params[place.name]
            yield LazyTensor(
                place.hf_names[0], array.shape, FORMATS[dtype.name], partial(_fetch_as, array, dtype)
            )
            continue
        weights = _of_all_layers(params, place.name)
        get = partial(
            fetch_layer,
            weights,
            dtype=dtype,
            is_transposed=place.is_transposed,
            adapters=adapters["layers"].get(place.name) if adapters is not None else None,
            adapter_scale=adapter_scale,
        )
        shape = weights[0].shape if isinstance(weights, list) else weights.shape[1:]
        yield from _lazy_layers(place, shape, dtype, get)


def _of_all_layers(params: Params, name: str) -> Any:
    """A weight of every layer: a stack, or a list where the program keeps its layers one by one."""
    layers = params["layers"]
    return [layer[name] for layer in layers] if isinstance(layers, list) else layers[name]


def _lazy_layers(
    place: TensorPlace, shape: tuple[int, ...], dtype: np.dtype[Any], get: Callable[[int], NDArray[Any]]
) -> Iterator[LazyTensor]:
    stored_shape = shape[::-1] if place.is_transposed else shape
    for layer, name in enumerate(place.hf_names):
        yield LazyTensor(name, stored_shape, FORMATS[dtype.name], partial(get, layer))


def _fetch_as(array: Array, dtype: np.dtype[Any]) -> NDArray[Any]:
    return _fetch(array).astype(dtype, copy=False)


@jax.jit
def _one_of(stack: Any, layer: int) -> Any:
    """One layer of everything in a stack; one compilation serves all layers."""
    return jax.tree.map(lambda leaf: leaf[layer], stack)


@partial(jax.jit, static_argnums=(2, 3, 4))
def _as_written(weight: Any, adapter: Any, scale: float, dtype: np.dtype[Any], is_transposed: bool) -> Array:
    if adapter is None:
        matrix = plain_matrix(weight, dtype)
    else:
        matrix = merge_matrix(weight, adapter, scale, dtype)
    return matrix.T if is_transposed else matrix
