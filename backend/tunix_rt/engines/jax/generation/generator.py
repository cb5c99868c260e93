"""The loaded model, its rows, and how it is opened.

XLA computes a small product on one core. A small model therefore leaves the other cores idle, however many
rows it writes; in several batches, each core has rows of its own. The products of a large model are split
over the cores by XLA itself, and every batch would only read its weights from memory once more.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh
from numpy.typing import NDArray

from tunix_rt.base.host import usable_cores
from tunix_rt.engines.generation.base import GeneratorRequest
from tunix_rt.engines.generation.generator import BatchGenerator, encoder_of, precision_of
from tunix_rt.engines.generation.scheduler import (
    IDLE,
    STEPS_PER_SYNC,
    Batch,
    DeviceMemory,
    PrefillBatch,
    default_rows,
)
from tunix_rt.engines.jax.devices import DeviceChoice, choose_device, is_out_of_memory
from tunix_rt.engines.jax.generation.decoder import Decoder, Weights
from tunix_rt.engines.jax.generation.steps import (
    DevicePrefillBatch,
    Rows,
    SamplingParams,
    decode,
    decode_until_free,
    empty_rows,
    prefill,
    prefill_sequentially,
)
from tunix_rt.engines.jax.model.decoder import output_embedding
from tunix_rt.engines.jax.model.lora import adapter_scale
from tunix_rt.engines.jax.model.params import Params, abstract_params, init_params, random_keys, unstacked
from tunix_rt.engines.jax.sharding import make_mesh, replicated
from tunix_rt.engines.jax.weights import load_adapters, load_params
from tunix_rt.engines.types import Decoding
from tunix_rt.engines.weights.architecture import Architecture
from tunix_rt.engines.weights.sources import ModelSource, resolve_model, stop_token_ids
from tunix_rt.recipes.types import FloatFormat, ShardingSection

STEPS_OF_SMALL_MODELS = 256
"""Tokens between two looks, at most: a tenth of a second. A look ends earlier when there is room for the next
prompts; with fewer tokens, many cores wait for the one thread at a time that Python lets ask for more."""

# Two batches of two rows are no faster than one of four.
_FEWEST_ROWS = 4
# What the cache of one core can hold, more or less.
_MOST_WEIGHT_BYTES = 8 * 2**20


def is_small_model(weight_bytes: int) -> bool:
    """Whether one core computes its products."""
    return weight_bytes <= _MOST_WEIGHT_BYTES


def num_batches(num_rows: int, num_cores: int | None = None) -> int:
    """Batches of a small model for so many rows, all of the same size.

    Example:
        32 rows -> 2 with 2 cores, 8 with 8 or more
    """
    most = min(num_cores or usable_cores(), num_rows // _FEWEST_ROWS)
    return next((number for number in range(most, 1, -1) if num_rows % number == 0), 1)


# XLA's library for CPUs does not say why it failed. Seen where memory was short; with fewer rows it went on.
_CPU_FAILED = "YNNPACK operation failed"


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model on its devices."""

    decoder: Decoder
    weights: Weights
    mesh: Mesh
    stop_ids: frozenset[int]
    choice: DeviceChoice

    @property
    def num_devices(self) -> int:
        """Each of them has a copy of the weights, and its part of every batch."""
        return self.mesh.size

    @property
    def is_one_cpu(self) -> bool:
        """Whether the loop over tokens runs where the program runs, so that it can end at any of them."""
        return self.choice.platform == "cpu" and self.num_devices == 1

    @cached_property
    def stops(self) -> jax.Array:
        """The stop tokens as the device reads them; a number that no token has stands for none."""
        numbers = np.asarray(sorted(self.stop_ids) or [IDLE], np.int32)
        stops: jax.Array = jax.device_put(numbers, replicated(self.mesh))
        return stops

    @property
    def weight_bytes(self) -> int:
        """What the weights take on each device."""
        return sum(leaf.nbytes for leaf in jax.tree.leaves(self.weights))

    def default_rows(self, num_slots: int) -> int:
        """Rows of a batch over all devices when nobody says how many."""
        choice = self.choice
        room = DeviceMemory(choice.platform, self.num_devices, choice.memory_bytes, self.weight_bytes)
        bytes_per_number = np.dtype(self.decoder.dtype).itemsize
        return default_rows(
            room, self.decoder.architecture, num_slots=num_slots, bytes_per_number=bytes_per_number
        )

    def batch(
        self, decoding: Decoding, *, num_rows: int, num_slots: int, steps_per_sync: int = STEPS_PER_SYNC
    ) -> Batch:
        """An empty batch for prompts that come one by one, with room for `num_slots` tokens a row."""
        return self._batch(
            decoding, num_rows, num_slots, steps_per_sync, prefills_sequentially=self.is_one_cpu
        )

    def batches(self, decoding: Decoding, *, num_rows: int, num_slots: int) -> list[Batch]:
        """The same for many prompts, the rows of a small model shared out to the cores of a CPU."""
        is_small = self.is_one_cpu and is_small_model(self.weight_bytes)
        count = num_batches(num_rows) if is_small else 1
        num_steps = STEPS_OF_SMALL_MODELS if is_small else STEPS_PER_SYNC
        return [
            self._batch(decoding, num_rows // count, num_slots, num_steps, prefills_sequentially=is_small)
            for _ in range(count)
        ]

    def _batch(
        self,
        decoding: Decoding,
        num_rows: int,
        num_slots: int,
        num_steps: int,
        *,
        prefills_sequentially: bool,
    ) -> Batch:
        rows = _JaxRows(
            self, SamplingParams.of(decoding), num_rows, num_slots, num_steps, prefills_sequentially
        )
        return Batch(
            rows,
            num_rows=num_rows,
            stop_ids=self.stop_ids,
            num_devices=self.num_devices,
            prefills_sequentially=prefills_sequentially,
        )

    def is_out_of_memory(self, error: RuntimeError) -> bool:
        """Whether the error says that a device has no memory left."""
        return is_out_of_memory(error) or _CPU_FAILED in str(error)


class _JaxRows:
    """`DeviceRows` as two programs, compiled once each."""

    def __init__(
        self,
        model: LoadedModel,
        choice: SamplingParams,
        num_rows: int,
        num_slots: int,
        num_steps: int,
        prefills_sequentially: bool,
    ) -> None:
        self._model = model
        self._prefills_sequentially = prefills_sequentially
        self._num_steps = num_steps
        self._choice = choice
        self._num_rows = num_rows
        self._rows: Rows = empty_rows(model.decoder, model.mesh, num_rows, num_slots)

    def prefill(self, new: PrefillBatch, num_rows: int) -> None:
        """Give prompts to rows that are free."""
        model = self._model
        begun = DevicePrefillBatch(**self._filled_up(new, num_rows))
        if self._prefills_sequentially:
            num_new = np.int32(len(new.rows))
            self._rows = prefill_sequentially(
                model.decoder, model.mesh, model.weights, self._rows, begun, num_new
            )
        else:
            self._rows = prefill(model.decoder, model.mesh, model.weights, self._rows, begun)

    def advance(self, num_awaited: int) -> NDArray[Any]:
        """Some more tokens of every row."""
        model = self._model
        if model.is_one_cpu:
            self._rows, written = decode_until_free(
                model.decoder,
                model.mesh,
                model.weights,
                self._rows,
                model.stops,
                np.int32(num_awaited),
                choice=self._choice,
                num_steps=self._num_steps,
            )
            tokens = np.asarray(written)
            made: NDArray[Any] = tokens[(tokens != IDLE).any(axis=1)]
            return made
        self._rows, written = decode(
            model.decoder,
            model.mesh,
            model.weights,
            self._rows,
            model.stops,
            choice=self._choice,
            num_steps=self._num_steps,
        )
        return np.asarray(written)

    def _filled_up(self, new: PrefillBatch, num_rows: int) -> dict[str, Any]:
        """The program has its own number of rows; those that are left over go nowhere."""
        num_missing = num_rows - len(new.rows)
        if not num_missing:
            return new._asdict()
        arrays = {
            name: np.concatenate([array, np.repeat(array[-1:], num_missing, axis=0)])
            for name, array in new._asdict().items()
        }
        arrays["rows"][len(new.rows) :] = self._num_rows
        return arrays


JaxGenerator: TypeAlias = BatchGenerator[LoadedModel]


def open_generator(request: GeneratorRequest) -> JaxGenerator:
    """Load the model onto the devices.

    Raises:
        DeviceError: The device is not there.
        NotFoundError: There is no such model, or it has no tokenizer or weights.
        DataError: Files are damaged or do not belong together.
    """
    source = resolve_model(request.model)
    encoder = encoder_of(request, source)
    choice = choose_device(request.device)
    precision = precision_of(request, computes_bfloat16=choice.platform != "cpu")
    mesh = make_mesh(ShardingSection(data=len(choice.devices), fsdp=1), choice.devices)
    decoder = Decoder(
        source.architecture,
        jnp.dtype(precision),
        unrolls_layers=choice.platform != "tpu",
        has_transposed_keys=choice.platform == "cpu",
    )
    decoder, weights = _with_adapter(request, decoder, load_weights(request, source, precision, mesh), mesh)
    model = LoadedModel(decoder, weights, mesh, stop_token_ids(source, encoder), choice)
    return BatchGenerator(model, encoder, source, str(choice), precision)


def load_weights(
    request: GeneratorRequest, source: ModelSource, precision: FloatFormat, mesh: Mesh
) -> Params:
    """The weights without the adapter, a copy on every device."""
    architecture = source.architecture
    if request.model.weights == "random" or source.directory is None:
        key = random_keys(request.seed).weights
        make = jax.jit(
            lambda: init_params(architecture, key, jnp.dtype(precision)), out_shardings=replicated(mesh)
        )
        params: Params = make()
        return params
    shardings = jax.tree.map(lambda _: replicated(mesh), abstract_params(architecture, precision))
    return load_params(source.directory, architecture, precision, shardings)


def _with_adapter(
    request: GeneratorRequest, decoder: Decoder, params: Params, mesh: Mesh
) -> tuple[Decoder, Weights]:
    """The weights in the form that the decoder walks through, and the adapter, if any, beside them."""
    adapters: Params = {}
    if request.adapter is not None:
        loaded, lora = load_adapters(request.adapter, decoder.architecture)
        adapters = jax.device_put(loaded["layers"], replicated(mesh))
        decoder = replace(decoder, adapter_scale=adapter_scale(lora))
    if decoder.unrolls_layers:
        params = _in_lists(params, decoder.architecture.num_layers, mesh)
    is_cpu = mesh.devices.flat[0].platform == "cpu"
    return decoder, Weights(
        params, adapters, transposed_head(params, decoder.architecture) if is_cpu else None
    )


def transposed_head(params: Params, architecture: Architecture) -> Array:
    """A copy of the output embedding as [D, V]."""
    return jnp.array(output_embedding(params, architecture).T)


def _in_lists(params: Params, num_layers: int, mesh: Mesh) -> Params:
    place = replicated(mesh)
    layer = jax.tree.map(lambda _: place, params["layers"])
    shardings = jax.tree.map(lambda _: place, params) | {"layers": [layer] * num_layers}
    return unstacked(params, shardings)
