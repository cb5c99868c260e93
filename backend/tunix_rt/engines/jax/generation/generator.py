"""Loading a model for generation, and its batches on the device.

XLA computes a small matrix product on one core, so one batch of a small model leaves the other cores idle,
however many rows it has. Several batches give each core its own rows. XLA splits the products of a large
model over the cores by itself, and more batches would only read its weights from memory more often.
"""

from dataclasses import dataclass, field, replace
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
    empty_rows,
    prefill,
)
from tunix_rt.engines.jax.model.decoder import output_embedding
from tunix_rt.engines.jax.model.lora import adapter_scale
from tunix_rt.engines.jax.model.params import Params, abstract_params, init_params, random_keys, unstack
from tunix_rt.engines.jax.sharding import make_mesh, replicated
from tunix_rt.engines.jax.weights import load_adapters, load_params
from tunix_rt.engines.types import Decoding
from tunix_rt.engines.weights.architecture import Architecture
from tunix_rt.engines.weights.sources import ModelSource, resolve_model, stop_token_ids
from tunix_rt.recipes.types import FloatFormat, ShardingSection

SMALL_MODEL_STEPS_PER_SYNC = 256
"""Maximum number of decode steps between two syncs with the host: a tenth of a second. Decoding stops earlier
when enough rows are free for the next prompts. With fewer steps, many cores wait for Python, which runs one
thread at a time."""

# Two batches of two rows are no faster than one of four.
_MIN_ROWS_PER_BATCH = 4
MAX_SMALL_MODEL_BYTES = 8 * 2**20
"""XLA computes the products of smaller models on one core. About the size of the cache of one core."""


def num_batches(num_rows: int, num_cores: int | None = None) -> int:
    """Number of equal batches that `num_rows` rows of a small model are split into.

    Example:
        32 rows -> 2 with 2 cores, 8 with 8 or more
    """
    most = min(num_cores or usable_cores(), num_rows // _MIN_ROWS_PER_BATCH)
    return next((number for number in range(most, 1, -1) if num_rows % number == 0), 1)


# XLA's CPU library does not report a reason. Observed when memory ran out; fewer rows worked.
_CPU_OUT_OF_MEMORY_MESSAGE = "YNNPACK operation failed"


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model on its devices, replicated."""

    decoder: Decoder
    weights: Weights
    mesh: Mesh
    stop_ids: frozenset[int]
    device: DeviceChoice

    @property
    def num_devices(self) -> int:
        """Number of devices; each has a copy of the weights and a part of every batch."""
        return self.mesh.size

    @property
    def is_single_cpu(self) -> bool:
        """Whether the decode loop runs on the host's own CPU, so that it can stop after any token."""
        return self.device.platform == "cpu" and self.num_devices == 1

    @cached_property
    def device_stop_ids(self) -> Array:
        """The stop tokens on the device; IDLE, which is no token, if there are none."""
        host_ids = np.asarray(sorted(self.stop_ids) or [IDLE], np.int32)
        ids: Array = jax.device_put(host_ids, replicated(self.mesh))
        return ids

    @property
    def weight_bytes(self) -> int:
        """Bytes of the weights on each device."""
        return sum(leaf.nbytes for leaf in jax.tree.leaves(self.weights))

    def default_rows(self, num_slots: int) -> int:
        """Default batch size, over all devices."""
        device = self.device
        room = DeviceMemory(device.platform, self.num_devices, device.memory_bytes, self.weight_bytes)
        bytes_per_number = np.dtype(self.decoder.dtype).itemsize
        return default_rows(
            room, self.decoder.architecture, num_slots=num_slots, bytes_per_number=bytes_per_number
        )

    def batch(
        self,
        decoding: Decoding,
        *,
        num_rows: int,
        num_slots: int,
        steps_per_sync: int = STEPS_PER_SYNC,
        prefills_sequentially: bool | None = None,
    ) -> Batch:
        """An empty batch with `num_slots` tokens per row.

        Prompts that arrive one by one are prefilled sequentially on a single CPU, the default.
        """
        is_sequential = self.is_single_cpu if prefills_sequentially is None else prefills_sequentially
        sampling = SamplingParams(decoding.temperature, decoding.top_p)
        return Batch(
            _JaxRows(self, sampling, num_rows, num_slots, steps_per_sync, is_sequential),
            num_rows=num_rows,
            stop_ids=self.stop_ids,
            num_devices=self.num_devices,
            prefills_sequentially=is_sequential,
        )

    def batches(self, decoding: Decoding, *, num_rows: int, num_slots: int) -> list[Batch]:
        """Empty batches for many prompts; on CPU, the rows of a small model are spread over the cores."""
        is_small = self.is_single_cpu and self.weight_bytes <= MAX_SMALL_MODEL_BYTES
        count = num_batches(num_rows) if is_small else 1
        return [
            self.batch(
                decoding,
                num_rows=num_rows // count,
                num_slots=num_slots,
                steps_per_sync=SMALL_MODEL_STEPS_PER_SYNC if is_small else STEPS_PER_SYNC,
                prefills_sequentially=is_small,
            )
            for _ in range(count)
        ]

    def is_out_of_memory(self, error: RuntimeError) -> bool:
        """Whether the error says that a device has no memory left."""
        return is_out_of_memory(error) or _CPU_OUT_OF_MEMORY_MESSAGE in str(error)


@dataclass(eq=False)
class _JaxRows:
    """`DeviceRows` as a prefill and a decode program, compiled once each."""

    model: LoadedModel
    sampling: SamplingParams
    num_rows: int
    num_slots: int
    num_steps: int
    prefills_sequentially: bool
    rows: Rows = field(init=False)

    def __post_init__(self) -> None:
        self.rows = empty_rows(self.model.decoder, self.model.mesh, self.num_rows, self.num_slots)

    def prefill(self, new: PrefillBatch, num_rows: int) -> None:
        model, num_new = self.model, len(new.rows)
        # Pad to the fixed size of the program; padding goes to a row that does not exist.
        arrays: dict[str, Any] = {
            name: np.concatenate([array, np.repeat(array[-1:], num_rows - num_new, axis=0)])
            for name, array in new._asdict().items()
        }
        arrays["rows"][num_new:] = self.num_rows
        padded = DevicePrefillBatch(**arrays)
        count = np.int32(num_new) if self.prefills_sequentially else None
        self.rows = prefill(model.decoder, model.mesh, model.weights, self.rows, padded, count)

    def advance(self, num_awaited: int) -> NDArray[Any]:
        model = self.model
        self.rows, decoded = decode(
            model.decoder,
            model.mesh,
            model.weights,
            self.rows,
            model.device_stop_ids,
            np.int32(num_awaited) if model.is_single_cpu else None,
            sampling=self.sampling,
            num_steps=self.num_steps,
        )
        tokens = np.asarray(decoded)
        decoded_steps: NDArray[Any] = tokens[(tokens != IDLE).any(axis=1)]
        return decoded_steps


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
    device = choose_device(request.device)
    precision = precision_of(request, computes_bfloat16=device.platform != "cpu")
    mesh = make_mesh(ShardingSection(data=len(device.devices), fsdp=1), device.devices)
    is_cpu = device.platform == "cpu"
    decoder = Decoder(
        source.architecture,
        jnp.dtype(precision),
        unrolls_layers=device.platform != "tpu",
        has_transposed_keys=is_cpu,
    )
    params, adapters = load_weights(request, source, precision, mesh), {}
    if request.adapter is not None:
        loaded, lora = load_adapters(request.adapter, source.architecture)
        adapters = jax.device_put(loaded["layers"], replicated(mesh))
        decoder = replace(decoder, adapter_scale=adapter_scale(lora))
    if decoder.unrolls_layers:
        shardings = jax.tree.map(lambda _: replicated(mesh), params)
        layers = [shardings["layers"]] * source.architecture.num_layers
        params = unstack(params, shardings | {"layers": layers})
    head = transposed_head(params, source.architecture) if is_cpu else None
    model = LoadedModel(
        decoder, Weights(params, adapters, head), mesh, stop_token_ids(source, encoder), device
    )
    return BatchGenerator(model, encoder, source, str(device), precision)


def load_weights(
    request: GeneratorRequest, source: ModelSource, precision: FloatFormat, mesh: Mesh
) -> Params:
    """The weights without the adapter, a copy on every device."""
    architecture = source.architecture
    if request.model.weights == "random" or source.directory is None:
        key = random_keys(request.seed).weights
        init = jax.jit(
            lambda: init_params(architecture, key, jnp.dtype(precision)), out_shardings=replicated(mesh)
        )
        params: Params = init()
        return params
    shardings = jax.tree.map(lambda _: replicated(mesh), abstract_params(architecture, precision))
    return load_params(source.directory, architecture, precision, shardings)


def transposed_head(params: Params, architecture: Architecture) -> Array:
    """A copy of the output embedding as [D, V]."""
    return jnp.array(output_embedding(params, architecture).T)
