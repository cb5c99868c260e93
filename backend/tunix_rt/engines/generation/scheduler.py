"""Requests by shape, the request queue, the rows of a batch, default batch sizes.

The shapes of a request follow from its own length alone, so its neighbours never change what is computed for
it. When a row has finished, it takes the next request while the others keep decoding.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from threading import Lock
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tunix_rt.engines.generation.base import Completion, Prompt, TokenDelta
from tunix_rt.engines.types import Decoding
from tunix_rt.engines.weights.architecture import Architecture

_SMALLEST = 32
_LARGEST_WITHOUT_QUARTERS = 512


@dataclass(frozen=True)
class DecodeRequest:
    """A prompt and the most tokens it may grow to."""

    prompt: Prompt
    length: int
    """The most tokens of prompt and completion together."""
    seed: int = 0
    """Of the sampling noise."""

    @property
    def num_prompt_tokens(self) -> int:
        """Tokens of the prompt."""
        return len(self.prompt.token_ids)

    @property
    def num_new_tokens(self) -> int:
        """The most tokens that may be generated."""
        return self.length - self.num_prompt_tokens

    @property
    def prompt_size(self) -> int:
        """Tokens that the prompt is padded to."""
        return size_for(self.num_prompt_tokens)

    @property
    def num_slots(self) -> int:
        """Slots of the KV cache that hold the request and its padded prompt."""
        return max(slots_for(self.length), self.prompt_size)


def size_for(num_tokens: int) -> int:
    """The next power of two, at least 32.

    Example:
        5 -> 32, 130 -> 256
    """
    return max(_SMALLEST, power_of_two_above(num_tokens))


def slots_for(num_tokens: int) -> int:
    """As `size_for`; above 512 also quarters between two powers of two, as every token attends to all slots.

    Example:
        5 -> 32, 130 -> 256, 544 -> 640
    """
    size = size_for(num_tokens)
    if size <= _LARGEST_WITHOUT_QUARTERS:
        return size
    quarter = size // 8
    return -(-num_tokens // quarter) * quarter


def grouped(requests: Iterable[DecodeRequest]) -> Iterator[list[DecodeRequest]]:
    """The requests by slots of the cache, longest first, so that running out of memory shows early."""
    ordered = sorted(
        requests, key=lambda request: (request.num_slots, request.num_prompt_tokens), reverse=True
    )
    for _, group in groupby(ordered, key=lambda request: request.num_slots):
        yield list(group)


def next_prefill(waiting: Sequence[DecodeRequest], num_rows: int) -> list[DecodeRequest]:
    """The first waiting requests that share a prompt size."""
    candidates = waiting[:num_rows]
    return [request for request in candidates if request.prompt_size == candidates[0].prompt_size]


def power_of_two_below(number: int) -> int:
    """The largest power of two not above the number; 1 for numbers below 1."""
    return 1 << max(0, number.bit_length() - 1) if number > 0 else 1


def power_of_two_above(number: int) -> int:
    """The smallest power of two not below the number."""
    return 1 << max(0, number - 1).bit_length()


IDLE, NOT_FINITE = -1, -2
"""Placeholders for a token: of a row that has ended, and of one whose logits are not finite."""

STEPS_PER_SYNC = 16
"""Tokens between two syncs with the host. More leave finished rows idle; fewer wait for the host."""

# Of one prefill: enough to keep a device busy, few enough for dense attention.
_TOKENS_PER_PREFILL = 16_384
# A quarter of the rows at a time, so that few rows wait and few prefills are half empty.
_PREFILLS_PER_BATCH = 4


class PrefillBatch(NamedTuple):
    """Prompts that start in rows of a batch, [R] each."""

    prompts: NDArray[Any]
    """Tokens [R, T]; a prompt is padded with its own last token."""
    rows: NDArray[Any]
    """The row of each prompt."""
    tokens: NDArray[Any]
    """The last token of each prompt; decoding continues after it."""
    positions: NDArray[Any]
    """The position of that token."""
    lengths: NDArray[Any]
    """The most tokens of the row."""
    keys: NDArray[Any]
    """Keys of the sampling noise, uint32 [R, 2]."""


class DeviceRows(Protocol):
    """The rows of a batch on the device."""

    def prefill(self, new: PrefillBatch, num_rows: int) -> None:
        """Compute prompts into free rows; `num_rows` is the largest prefill at this prompt size."""

    def advance(self, num_awaited: int) -> NDArray[Any]:
        """Decode more tokens of every row, [steps, B], with IDLE or NOT_FINITE where there is none.

        It may return as soon as `num_awaited` rows are free, so that they do not stay idle.
        """


class RequestQueue:
    """Waiting requests in order. Thread-safe: batches in several threads take from it."""

    def __init__(self, requests: Iterable[DecodeRequest]) -> None:
        self._requests = list(requests)
        self._lock = Lock()

    def take(self, choose: Callable[[Sequence[DecodeRequest]], list[DecodeRequest]]) -> list[DecodeRequest]:
        """Remove and return the requests at the front that `choose` selects."""
        with self._lock:
            chosen = choose(self._requests)
            del self._requests[: len(chosen)]
            return chosen

    def inspect(self, read: Callable[[Sequence[DecodeRequest]], int]) -> int:
        """The result of a function of the waiting requests."""
        with self._lock:
            return read(self._requests)


@dataclass(eq=False)
class _ActiveRequest:
    request: DecodeRequest
    token_ids: list[int] = field(default_factory=list)

    def add(self, column: Sequence[int], stop_ids: frozenset[int]) -> TokenDelta:
        """Add the tokens of a row since the last sync."""
        num_before = len(self.token_ids)
        completion = None
        is_whole = num_before + len(column) < self.request.num_new_tokens
        if is_whole and NOT_FINITE not in column and stop_ids.isdisjoint(column):
            # The row continues, the usual case. The device waits for it, so no loop over tokens.
            self.token_ids.extend(column)
        else:
            completion = self._read(column, stop_ids)
        return TokenDelta(self.request.prompt, tuple(self.token_ids[num_before:]), completion)

    def _read(self, column: Sequence[int], stop_ids: frozenset[int]) -> Completion | None:
        """The completion, if the row has ended."""
        prompt = self.request.prompt
        for token_id in column:
            if token_id == NOT_FINITE:
                position = len(self.token_ids)
                detail = f"The model's logits are not finite numbers at token {position} of the completion."
                return Completion(prompt, failure="non-finite", detail=detail)
            if token_id in stop_ids:
                return Completion(prompt, tuple(self.token_ids), has_ended=True)
            self.token_ids.append(token_id)
            if len(self.token_ids) == self.request.num_new_tokens:
                return Completion(prompt, tuple(self.token_ids))
        return None


class Batch:
    """The rows of a batch, refilled from a queue until it is empty."""

    def __init__(
        self,
        rows: DeviceRows,
        *,
        num_rows: int,
        stop_ids: frozenset[int],
        num_devices: int = 1,
        prefills_sequentially: bool = False,
    ) -> None:
        """Take empty rows.

        Args:
            rows: The rows on the device.
            num_rows: How many there are; a multiple of the number of devices.
            stop_ids: Tokens that end a completion.
            num_devices: Devices that share the rows.
            prefills_sequentially: Whether the prompts of a prefill batch are computed one after the other.
                A small batch is then cheap, so a prefill may take every free row.
        """
        self._rows = rows
        self._stop_ids = stop_ids
        self._num_devices = num_devices
        self._prefills_sequentially = prefills_sequentially
        self._active: list[_ActiveRequest | None] = [None] * num_rows

    def run(self, queue: RequestQueue) -> Iterator[list[Completion]]:
        """Complete requests until none wait; each list holds the completions of one sync."""
        while True:
            while self.prefill_from(queue):
                pass
            if not self.is_active:
                return
            deltas = self.advance(queue.inspect(self._num_wanted))
            if finished := [delta.completion for delta in deltas if delta.completion]:
                yield finished

    @property
    def is_active(self) -> bool:
        """Whether any row is being decoded."""
        return any(self._active)

    @property
    def num_free(self) -> int:
        """Rows without a request."""
        return len(self._free_rows)

    @property
    def prompts(self) -> list[Prompt]:
        """The prompts that are being decoded."""
        return [active.request.prompt for active in self._active if active]

    def prefill_from(self, queue: RequestQueue) -> bool:
        """Prefill the next requests of the queue; returns whether there was room for any."""
        requests = queue.take(self._next_prefill)
        if not requests:
            return False
        rows = self._free_rows[: len(requests)]
        for row, request in zip(rows, requests, strict=True):
            self._active[row] = _ActiveRequest(request)
        self._rows.prefill(_prefill_batch(requests, rows), self._max_prefill_rows(requests[0]))
        return True

    def drop(self, prompt: Prompt) -> None:
        """Free the row of a prompt. The device keeps decoding it, ignored, until another request takes it."""
        for row, active in enumerate(self._active):
            if active and active.request.prompt is prompt:
                self._active[row] = None

    def advance(self, num_awaited: int | None = None) -> list[TokenDelta]:
        """Decode until the next sync and return the new tokens of every active row.

        Where the device can tell, it returns as soon as `num_awaited` rows are free; None: all of them.
        """
        columns = self._rows.advance(num_awaited or len(self._active)).T.tolist()
        deltas = []
        for row, (active, column) in enumerate(zip(self._active, columns, strict=True)):
            if active:
                deltas.append(delta := active.add(column, self._stop_ids))
                self._active[row] = None if delta.completion else active
        return deltas

    @property
    def _free_rows(self) -> list[int]:
        return [row for row, active in enumerate(self._active) if active is None]

    def _next_prefill(self, waiting: Sequence[DecodeRequest]) -> list[DecodeRequest]:
        """The requests to prefill now; none until enough rows are free."""
        num_free = len(self._free_rows)
        if not waiting or num_free < self._num_wanted(waiting):
            return []
        return next_prefill(waiting, min(num_free, self._max_prefill_rows(waiting[0])))

    def _num_wanted(self, waiting: Sequence[DecodeRequest]) -> int:
        """Rows that must be free before the next prefill; all rows if no request waits."""
        if not waiting:
            return len(self._active)
        return min(self._num_devices * self._share(waiting[0], _PREFILLS_PER_BATCH), len(waiting))

    def _max_prefill_rows(self, request: DecodeRequest) -> int:
        """The most prompts of this size in one prefill."""
        num_shares = 1 if self._prefills_sequentially else _PREFILLS_PER_BATCH
        return self._num_devices * self._share(request, num_shares)

    def _share(self, request: DecodeRequest, num_shares: int) -> int:
        """Rows per device in one of `num_shares` parts of the batch; fewer if the prompts are long."""
        per_device = len(self._active) // self._num_devices
        most = max(1, _TOKENS_PER_PREFILL // request.prompt_size)
        return min(most, max(1, per_device // num_shares))


def noise_key(prompt: Prompt, seed: int) -> NDArray[np.uint32]:
    """The key [2] of the sampling noise: a hash of seed, prompt key and sample, and of nothing else."""
    name = json.dumps([seed, prompt.key, prompt.sample])
    return np.frombuffer(hashlib.sha256(name.encode("utf-8")).digest()[:8], np.uint32)


def _prefill_batch(requests: Sequence[DecodeRequest], rows: Sequence[int]) -> PrefillBatch:
    prompts = [list(request.prompt.token_ids) for request in requests]
    size = requests[0].prompt_size
    return PrefillBatch(
        # Padded with the prompt's own last token, so that no other value enters its row.
        prompts=np.array([ids + ids[-1:] * (size - len(ids)) for ids in prompts], np.int32),
        rows=np.array(rows, np.int32),
        tokens=np.array([ids[-1] for ids in prompts], np.int32),
        positions=np.array([len(ids) - 1 for ids in prompts], np.int32),
        lengths=np.array([request.length for request in requests], np.int32),
        keys=np.array([noise_key(request.prompt, request.seed) for request in requests], np.uint32),
    )


class DecodingModel(Protocol):
    """A model on its devices."""

    @property
    def num_devices(self) -> int:
        """Every device has a copy of the weights and its part of each batch."""

    def default_rows(self, num_slots: int) -> int:
        """The default rows of a batch, over all devices."""

    def batch(
        self, decoding: Decoding, *, num_rows: int, num_slots: int, steps_per_sync: int = STEPS_PER_SYNC
    ) -> Batch:
        """An empty batch with `num_slots` tokens per row."""

    def batches(self, decoding: Decoding, *, num_rows: int, num_slots: int) -> list[Batch]:
        """The same rows as one batch, or as several that run faster in parallel."""

    def is_out_of_memory(self, error: RuntimeError) -> bool:
        """Whether the error means that a device ran out of memory."""


def whole_rows(model: DecodingModel, num_rows: int) -> int:
    """The number of rows, rounded up to the same number on every device."""
    return -(-num_rows // model.num_devices) * model.num_devices


CPU_ROWS = 32
MAX_ROWS_PER_DEVICE = 512
_ROWS_OF_UNKNOWN_DEVICE = 64
# The rest is for hidden states and the memory of the library.
_USABLE_FRACTION = 0.8
# A step holds logits, probabilities and noise of every row, float32 each.
_BYTES_PER_LOGIT = 4 * 3


@dataclass(frozen=True)
class DeviceMemory:
    """The memory of the devices of a loaded model."""

    platform: str
    num_devices: int
    memory_bytes: int | None
    """Memory of one device; None when it is not reported."""
    weight_bytes: int
    """Memory of one device that the weights take."""


def default_rows(
    memory: DeviceMemory, architecture: Architecture, *, num_slots: int, bytes_per_number: int
) -> int:
    """Default rows over all devices: as many as fit beside the weights, a power of two per device."""
    if memory.platform == "cpu":
        return max(CPU_ROWS, memory.num_devices)
    if memory.memory_bytes is None:
        return _ROWS_OF_UNKNOWN_DEVICE * memory.num_devices
    free_bytes = memory.memory_bytes * _USABLE_FRACTION - memory.weight_bytes
    bytes_per_row = (
        cache_numbers_per_row(architecture, num_slots) * bytes_per_number
        + _BYTES_PER_LOGIT * architecture.vocab_size
    )
    return min(MAX_ROWS_PER_DEVICE, power_of_two_below(int(free_bytes // bytes_per_row))) * memory.num_devices


def cache_numbers_per_row(architecture: Architecture, num_slots: int) -> int:
    """Numbers that one row takes in the KV cache, over all layers."""
    return 2 * architecture.num_layers * architecture.num_kv_heads * num_slots * architecture.head_dim
