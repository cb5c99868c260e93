"""Loading a model for generation, its batches on the device, sampling and CUDA graphs.

A decode step is some hundred small kernels. Launched one by one from Python, they leave a GPU idle most of
the time; a CUDA graph launches all of them at once.

Sampling a token needs one uniform number. All numbers of a completion, one per position, are known when it
starts: they follow from its seed, key and sample index. Sampling therefore does not depend on the batch, the
device or the other rows.

A finished row idles until it gets the next prompt. Shapes never change, so a step can be replayed as a CUDA
graph, and the tokens of a row do not depend on the other rows of the batch.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tunix_rt.engines.generation.base import GeneratorRequest
from tunix_rt.engines.generation.generator import BatchGenerator, encoder_of, precision_of
from tunix_rt.engines.generation.scheduler import (
    IDLE,
    NOT_FINITE,
    STEPS_PER_SYNC,
    Batch,
    DeviceMemory,
    PrefillBatch,
    default_rows,
)
from tunix_rt.engines.planning.limits import BFLOAT16_CAPABILITY
from tunix_rt.engines.torch.devices import TorchDevice, choose_device, is_out_of_memory
from tunix_rt.engines.torch.generation.decoder import KVCache, next_logits, prefill, prepare_for_generation
from tunix_rt.engines.torch.model.decoder import Decoder, DecoderOptions, open_decoder
from tunix_rt.engines.types import Decoding
from tunix_rt.engines.weights.sources import resolve_model, stop_token_ids

USE_CUDA_GRAPHS = True
"""False: launch every kernel from Python, on GPU too."""


def as_cuda_graph(step: Callable[[], Tensor], device: torch.device) -> Callable[[], Tensor]:
    """Capture a step as a CUDA graph; elsewhere, return the step unchanged.

    The step must read and write tensors at fixed addresses, and each replay overwrites the previous result.
    The step runs twice to warm up the libraries, and once for the capture.
    """
    if device.type != "cuda" or not USE_CUDA_GRAPHS:
        return step
    # Capturing requires a warm-up on a side stream.
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        step()
        step()
    torch.cuda.current_stream(device).wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = step()

    def replay() -> Tensor:
        graph.replay()
        return result

    return replay


def uniform_draws(keys: Iterable[NDArray[np.uint32]], num_positions: int) -> Tensor:
    """The uniform numbers in [0, 1) that sample completions, float32 [R, num_positions].

    Args:
        keys: Keys from `noise_key`, one for each completion.
        num_positions: Number of tokens per row. A larger number does not change the earlier draws.
    """
    streams = (np.random.Generator(np.random.Philox(key=int.from_bytes(key.tobytes()))) for key in keys)
    return torch.from_numpy(np.stack([stream.random(num_positions, np.float32) for stream in streams]))


def sample_tokens(decoding: Decoding, logits: Tensor, draws: Tensor) -> Tensor:
    """The next token of every row, int64 [B].

    Args:
        decoding: Greedy if the temperature is 0, otherwise temperature and top-p.
        logits: float32 [B, V].
        draws: A uniform number in [0, 1) for each row [B].
    """
    if decoding.temperature == 0:
        return logits.argmax(dim=-1)
    # The largest logit is 0 before the division, so no temperature overflows the format.
    scaled = (logits - logits.amax(dim=-1, keepdim=True)) / decoding.temperature
    probabilities = torch.softmax(scaled, dim=-1)
    if decoding.top_p < 1:
        probabilities = probabilities.where(is_in_nucleus(probabilities, decoding.top_p), 0.0)
    # float64, so that sums over a large vocabulary keep unlikely tokens and never decrease by rounding.
    cumulative = probabilities.cumsum(dim=-1, dtype=torch.float64)
    thresholds = draws[:, None].double() * cumulative[:, -1:]
    sampled = torch.searchsorted(cumulative, thresholds, right=True).squeeze(1)
    # The search finds no index if logits are NaN; the caller then marks the row as failed.
    return sampled.clamp(max=logits.shape[-1] - 1)


def is_in_nucleus(probabilities: Tensor, top_p: float) -> Tensor:
    """Mark the fewest most likely tokens that together have `top_p`, and those as likely as the last: [B, V].

    Example:
        [0.5, 0.3, 0.1, 0.1] with top_p 0.7 -> [True, True, False, False]
    """
    ordered = probabilities.sort(dim=-1, descending=True).values
    has_enough = ordered.cumsum(dim=-1) >= top_p
    # Clamped to the last one, because rounding may keep the whole sum below top_p.
    num_needed = (~has_enough).sum(dim=-1, keepdim=True).clamp(max=probabilities.shape[-1] - 1)
    return probabilities >= ordered.gather(-1, num_needed)


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model on its device, ready to generate."""

    decoder: Decoder
    device: TorchDevice
    stop_ids: frozenset[int]

    @property
    def num_devices(self) -> int:
        """Generation uses one device."""
        return 1

    @cached_property
    def device_stop_ids(self) -> Tensor:
        """The stop tokens on the device."""
        return torch.tensor(sorted(self.stop_ids), dtype=torch.long, device=self.device.device)

    def default_rows(self, num_slots: int) -> int:
        """Default batch size."""
        decoder, device = self.decoder, self.device
        weight_bytes = sum(parameter.nbytes for parameter in decoder.module.parameters())
        room = DeviceMemory(device.platform, self.num_devices, device.memory_bytes, weight_bytes)
        bytes_per_number = decoder.compute_dtype.itemsize
        return default_rows(
            room, decoder.architecture, num_slots=num_slots, bytes_per_number=bytes_per_number
        )

    def batch(
        self, decoding: Decoding, *, num_rows: int, num_slots: int, steps_per_sync: int = STEPS_PER_SYNC
    ) -> Batch:
        """An empty batch with `num_slots` tokens per row."""
        rows = _TorchRows(self, decoding, num_rows, num_slots, steps_per_sync)
        return Batch(rows, num_rows=num_rows, stop_ids=self.stop_ids)

    def batches(self, decoding: Decoding, *, num_rows: int, num_slots: int) -> list[Batch]:
        """One empty batch: torch splits its products over all cores."""
        return [self.batch(decoding, num_rows=num_rows, num_slots=num_slots)]

    def is_out_of_memory(self, error: RuntimeError) -> bool:
        """Whether the error means that the device is out of memory."""
        return is_out_of_memory(error)


class _TorchRows:
    """`DeviceRows` on one device; tensors are [B] except for the cache and the draws, updated in place."""

    @torch.inference_mode()
    def __init__(
        self, model: LoadedModel, decoding: Decoding, num_rows: int, num_slots: int, num_steps: int
    ) -> None:
        decoder, self._device = model.decoder, model.device.device
        self._model = model
        self._decoding, self._is_greedy = decoding, decoding.temperature == 0
        self._num_steps = num_steps
        self._cache = KVCache(
            decoder.architecture,
            num_rows=num_rows,
            num_slots=num_slots,
            dtype=decoder.compute_dtype,
            device=self._device,
        )
        # The newest token of each row, whose keys and values are not in the cache yet, and its position.
        self._tokens = torch.zeros(num_rows, dtype=torch.long, device=self._device)
        self._positions = torch.zeros_like(self._tokens)
        self._lengths = torch.zeros_like(self._tokens)
        self._is_active = torch.zeros_like(self._tokens, dtype=torch.bool)
        self._draws = torch.zeros((num_rows, 1 if self._is_greedy else num_slots), device=self._device)
        self._next_logits = as_cuda_graph(
            lambda: next_logits(decoder, self._cache, self._tokens, self._positions), self._device
        )

    @torch.inference_mode()
    def prefill(self, new: PrefillBatch, num_rows: int) -> None:
        """Prefill free rows with new prompts."""
        rows = self._long(new.rows)
        prefill(self._model.decoder, self._cache, self._long(new.prompts), rows)
        self._tokens[rows] = self._long(new.tokens)
        self._positions[rows] = self._long(new.positions)
        self._lengths[rows] = self._long(new.lengths)
        self._is_active[rows] = True
        if not self._is_greedy:
            self._draws[rows] = uniform_draws(new.keys, self._draws.shape[1]).to(self._device)

    @torch.inference_mode()
    def advance(self, num_awaited: int) -> NDArray[Any]:
        """Decode a fixed number of tokens of every row; counting free rows would block the host."""
        tokens = torch.stack([self._decode_step() for _ in range(self._num_steps)])
        on_host: NDArray[Any] = tokens.cpu().numpy()
        return on_host

    def _decode_step(self) -> Tensor:
        """Decode one token of every row [B], without blocking the host."""
        logits = self._next_logits()
        positions = self._positions + 1
        draws = self._draws[:, 0]  # unused by greedy decoding
        if not self._is_greedy:
            draws = self._draws.gather(1, positions[:, None]).squeeze(1)
        sampled = sample_tokens(self._decoding, logits, draws)
        is_finite = logits.isfinite().all(dim=-1)
        is_stop = (sampled[:, None] == self._model.device_stop_ids).any(dim=1)
        is_active = self._is_active & is_finite & ~is_stop & (positions + 1 < self._lengths)
        tokens = sampled.where(is_finite, NOT_FINITE).where(self._is_active, IDLE)
        self._tokens.copy_(sampled.where(is_active, self._tokens))
        self._positions.copy_(positions.where(is_active, self._positions))
        self._is_active.copy_(is_active)
        return tokens

    def _long(self, numbers: NDArray[Any]) -> Tensor:
        return torch.as_tensor(numbers, dtype=torch.long, device=self._device)


def open_generator(request: GeneratorRequest) -> BatchGenerator[LoadedModel]:
    """Load the model onto the device.

    Raises:
        DeviceError: The device is not there.
        NotFoundError: There is no such model, or it has no tokenizer or weights.
        DataError: Files are damaged or do not belong together.
    """
    source = resolve_model(request.model)
    encoder = encoder_of(request, source)
    device = choose_device(request.device)
    has_bfloat16 = (device.compute_capability or (0, 0)) >= BFLOAT16_CAPABILITY
    precision = precision_of(request, computes_bfloat16=has_bfloat16)
    options = DecoderOptions(
        weights=precision,
        compute=precision,
        kernel="dense",  # replaced by `prepare_for_generation`
        seed=request.seed,
        is_random=request.model.weights == "random",
    )
    decoder = open_decoder(source, options, device.device)
    if request.adapter is not None:
        # Imported here because PEFT is slow to import, and most models have no adapter.
        from tunix_rt.engines.torch.model.lora import load_adapters

        load_adapters(decoder, request.adapter)
    prepare_for_generation(decoder)
    model = LoadedModel(decoder, device, stop_token_ids(source, encoder))
    return BatchGenerator(model, encoder, source, str(device), precision)
