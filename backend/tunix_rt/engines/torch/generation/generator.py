"""The loaded model, its rows, sampling, CUDA graphs, and how it is opened.

A step is some hundred small kernels. Started one by one from Python, they leave a GPU idle most of the time;
a graph starts all of them at once.

A draw needs one number between 0 and 1. All numbers of a completion are known when it begins: they follow
from its seed, key and sample, one for each place. So no draw depends on a batch, a device or its neighbours.

A row that has ended idles until it is given the next prompt. Shapes never change, so that a step can be
replayed as a graph, and what a row writes does not depend on its neighbours.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

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
from tunix_rt.engines.torch.devices import TorchDevice, choose_device, is_out_of_memory
from tunix_rt.engines.torch.generation.decoder import RowCache, next_logits, prepare_to_write, read_prompts
from tunix_rt.engines.torch.model.decoder import Decoder, DecoderOptions, open_decoder
from tunix_rt.engines.types import Decoding
from tunix_rt.engines.weights.sources import ModelSource, resolve_model, stop_token_ids
from tunix_rt.recipes.types import FloatFormat

REPLAYS_GRAPHS = True
"""False: start every kernel from Python, on GPU too."""


def replayed(step: Callable[[], Tensor], device: torch.device) -> Callable[[], Tensor]:
    """The same step, as fast as the device allows.

    The step must read and write tensors that stay where they are, and its result is overwritten by the next
    one. It runs here, for the libraries to settle, and then for the capture.
    """
    if device.type != "cuda" or not REPLAYS_GRAPHS:
        return step
    _warm_up(step, device)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = step()

    def replay() -> Tensor:
        graph.replay()
        return result

    return replay


def _warm_up(step: Callable[[], Tensor], device: torch.device) -> None:
    """On a stream of its own, as captures want it."""
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        step()
        step()
    torch.cuda.current_stream(device).wait_stream(stream)


@dataclass(frozen=True)
class SamplingParams:
    """How tokens are chosen."""

    temperature: float
    top_p: float

    @classmethod
    def of(cls, decoding: Decoding) -> "SamplingParams":
        """The part of a decoding that one step needs."""
        return cls(decoding.temperature, decoding.top_p)

    @property
    def is_greedy(self) -> bool:
        """Whether nothing is drawn."""
        return self.temperature == 0


def draws_of(keys: Iterable[NDArray[np.uint32]], num_places: int) -> Tensor:
    """The numbers in [0, 1) that decide the draws of completions, float32 [R, num_places].

    Args:
        keys: What `noise_key` gives, one for each completion.
        num_places: Tokens of a row. More of them change none of the numbers before.
    """
    return torch.from_numpy(np.stack([_stream(key).random(num_places, np.float32) for key in keys]))


def choose_tokens(choice: SamplingParams, logits: Tensor, draws: Tensor) -> Tensor:
    """The next token of every row, int64 [B].

    Args:
        choice: Greedy, or temperature and top-p.
        logits: float32 [B, V].
        draws: A number in [0, 1) for each row [B].
    """
    if choice.is_greedy:
        return logits.argmax(dim=-1)
    # The best is 0 before the division, so that no temperature is too low for the format.
    scaled = (logits - logits.amax(dim=-1, keepdim=True)) / choice.temperature
    probabilities = torch.softmax(scaled, dim=-1)
    if choice.top_p < 1:
        probabilities = probabilities.where(is_in_nucleus(probabilities, choice.top_p), 0.0)
    # float64: a sum over a large vocabulary must not lose its unlikely tokens, nor fall by rounding.
    cumulative = probabilities.cumsum(dim=-1, dtype=torch.float64)
    thresholds = draws[:, None].double() * cumulative[:, -1:]
    chosen = torch.searchsorted(cumulative, thresholds, right=True).squeeze(1)
    # Where logits are not numbers, no place is found; the row is told to have failed.
    return chosen.clamp(max=logits.shape[-1] - 1)


def is_in_nucleus(probabilities: Tensor, top_p: float) -> Tensor:
    """Mark the fewest most likely tokens that together have `top_p`, and those as likely as the last: [B, V].

    Example:
        [0.5, 0.3, 0.1, 0.1] with top_p 0.7 -> [True, True, False, False]
    """
    ordered = probabilities.sort(dim=-1, descending=True).values
    has_enough = ordered.cumsum(dim=-1) >= top_p
    # The last one where rounding keeps the whole sum below top_p.
    num_needed = (~has_enough).sum(dim=-1, keepdim=True).clamp(max=probabilities.shape[-1] - 1)
    return probabilities >= ordered.gather(-1, num_needed)


def _stream(key: NDArray[Any]) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=int.from_bytes(key.tobytes())))


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model on its device, ready to write."""

    decoder: Decoder
    place: TorchDevice
    stop_ids: frozenset[int]

    @property
    def num_devices(self) -> int:
        """Texts are written on one device."""
        return 1

    @cached_property
    def stops(self) -> Tensor:
        """The stop tokens as the device reads them."""
        return torch.tensor(sorted(self.stop_ids), dtype=torch.long, device=self.place.device)

    def default_rows(self, num_slots: int) -> int:
        """Rows of a batch when nobody says how many."""
        decoder, place = self.decoder, self.place
        weight_bytes = sum(parameter.nbytes for parameter in decoder.module.parameters())
        room = DeviceMemory(place.platform, self.num_devices, place.memory_bytes, weight_bytes)
        bytes_per_number = decoder.compute_dtype.itemsize
        return default_rows(
            room, decoder.architecture, num_slots=num_slots, bytes_per_number=bytes_per_number
        )

    def batch(
        self, decoding: Decoding, *, num_rows: int, num_slots: int, steps_per_sync: int = STEPS_PER_SYNC
    ) -> Batch:
        """An empty batch, with room for `num_slots` tokens a row."""
        rows = _TorchRows(self, SamplingParams.of(decoding), num_rows, num_slots, steps_per_sync)
        return Batch(rows, num_rows=num_rows, stop_ids=self.stop_ids)

    def batches(self, decoding: Decoding, *, num_rows: int, num_slots: int) -> list[Batch]:
        """One batch: torch shares its products out to all cores."""
        return [self.batch(decoding, num_rows=num_rows, num_slots=num_slots)]

    def is_out_of_memory(self, error: RuntimeError) -> bool:
        """Whether the error says that the device has no memory left."""
        return is_out_of_memory(error)


class _TorchRows:
    """`DeviceRows` on one device; [B] each beside the cache, changed in place."""

    @torch.inference_mode()
    def __init__(
        self, model: LoadedModel, choice: SamplingParams, num_rows: int, num_slots: int, num_steps: int
    ) -> None:
        decoder, self._device = model.decoder, model.place.device
        self._model = model
        self._choice = choice
        self._num_steps = num_steps
        self._cache = RowCache(
            decoder.architecture,
            num_rows=num_rows,
            num_slots=num_slots,
            dtype=decoder.compute_dtype,
            device=self._device,
        )
        # The newest token of each row, whose keys and values are not in the cache yet, and where it stands.
        self._tokens = torch.zeros(num_rows, dtype=torch.long, device=self._device)
        self._positions = torch.zeros_like(self._tokens)
        self._lengths = torch.zeros_like(self._tokens)
        self._is_writing = torch.zeros_like(self._tokens, dtype=torch.bool)
        self._draws = torch.zeros((num_rows, 1 if choice.is_greedy else num_slots), device=self._device)
        self._next_logits = replayed(
            lambda: next_logits(decoder, self._cache, self._tokens, self._positions), self._device
        )

    @torch.inference_mode()
    def prefill(self, new: PrefillBatch, num_rows: int) -> None:
        """Give prompts to rows that are free."""
        rows = self._long(new.rows)
        read_prompts(self._model.decoder, self._cache, self._long(new.prompts), rows)
        self._tokens[rows] = self._long(new.tokens)
        self._positions[rows] = self._long(new.positions)
        self._lengths[rows] = self._long(new.lengths)
        self._is_writing[rows] = True
        if not self._choice.is_greedy:
            self._draws[rows] = draws_of(new.keys, self._draws.shape[1]).to(self._device)

    @torch.inference_mode()
    def advance(self, num_awaited: int) -> NDArray[Any]:
        """Some more tokens of every row. The host would have to wait to know how many are free."""
        written = torch.stack([self._write_one() for _ in range(self._num_steps)])
        numbers: NDArray[Any] = written.cpu().numpy()
        return numbers

    def _write_one(self) -> Tensor:
        """One more token of every row [B]. The host does not wait for it."""
        logits = self._next_logits()
        places = self._positions + 1
        chosen = choose_tokens(self._choice, logits, self._draws_at(places))
        is_finite = logits.isfinite().all(dim=-1)
        is_stop = (chosen[:, None] == self._model.stops).any(dim=1)
        goes_on = self._is_writing & is_finite & ~is_stop & (places + 1 < self._lengths)
        written = chosen.where(is_finite, NOT_FINITE).where(self._is_writing, IDLE)
        self._tokens.copy_(chosen.where(goes_on, self._tokens))
        self._positions.copy_(places.where(goes_on, self._positions))
        self._is_writing.copy_(goes_on)
        return written

    def _draws_at(self, places: Tensor) -> Tensor:
        if self._choice.is_greedy:
            return self._draws[:, 0]
        return self._draws.gather(1, places[:, None]).squeeze(1)

    def _long(self, numbers: NDArray[Any]) -> Tensor:
        return torch.as_tensor(numbers, dtype=torch.long, device=self._device)


TorchGenerator: TypeAlias = BatchGenerator[LoadedModel]

# Ampere. Older cards emulate bfloat16, slower than float32.
_BFLOAT16_CAPABILITY = (8, 0)


def open_generator(request: GeneratorRequest) -> TorchGenerator:
    """Load the model onto the device.

    Raises:
        DeviceError: The device is not there.
        NotFoundError: There is no such model, or it has no tokenizer or weights.
        DataError: Files are damaged or do not belong together.
    """
    source = resolve_model(request.model)
    encoder = encoder_of(request, source)
    place = choose_device(request.device)
    precision = precision_of(request, computes_bfloat16=_computes_bfloat16(place))
    decoder = _decoder(request, source, precision, place)
    model = LoadedModel(decoder, place, stop_token_ids(source, encoder))
    return BatchGenerator(model, encoder, source, str(place), precision)


def _computes_bfloat16(place: TorchDevice) -> bool:
    return (place.compute_capability or (0, 0)) >= _BFLOAT16_CAPABILITY


def _decoder(
    request: GeneratorRequest, source: ModelSource, precision: FloatFormat, place: TorchDevice
) -> Decoder:
    options = DecoderOptions(
        weights=precision,
        compute=precision,
        kernel="dense",  # until `prepare_to_write` puts its own in its place
        seed=request.seed,
        is_random=request.model.weights == "random",
    )
    decoder = open_decoder(source, options, place.device)
    if request.adapter is not None:
        # PEFT is slow to import, and most models come without an adapter.
        from tunix_rt.engines.torch.model.lora import load_adapters

        load_adapters(decoder, request.adapter)
    prepare_to_write(decoder)
    return decoder
