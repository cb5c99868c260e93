"""Continuous batching: requests join and leave while others decode.

All rows of a batch share their sampling parameters and their length. There is one batch for each combination
in use, and the batches advance in turn. A prompt waits only while its batch is full.
"""

from typing import NamedTuple

from tunix_rt.engines.generation.base import Prompt, TokenDelta, out_of_memory_failure, prompt_failure
from tunix_rt.engines.generation.scheduler import (
    Batch,
    DecodeRequest,
    DecodingModel,
    RequestQueue,
    size_for,
    whole_rows,
)
from tunix_rt.engines.types import Decoding
from tunix_rt.engines.weights.architecture import Architecture

STEPS_PER_DELTA = 4
"""Fewer than in evaluation: somebody is reading along."""
MAX_BATCHES = 4
"""Each has a KV cache of its own. An idle one makes room for the next."""


class _BatchKey(NamedTuple):
    """What all prompts of a batch have in common."""

    temperature: float
    top_p: float
    num_slots: int


class StreamingBatches:
    """`StreamingGenerator` for every engine with a `DecodingModel`; the first prompt allocates memory."""

    def __init__(self, model: DecodingModel, architecture: Architecture, *, max_rows: int) -> None:
        self._model = model
        self._architecture = architecture
        self._max_rows = max_rows
        self._batches: dict[_BatchKey, Batch] = {}
        self._waiting: dict[_BatchKey, list[DecodeRequest]] = {}
        self._refused: list[TokenDelta] = []

    @property
    def is_busy(self) -> bool:
        """Whether any prompt is being decoded or waiting."""
        return bool(self._refused or self._waiting) or any(b.is_active for b in self._batches.values())

    def add(self, prompt: Prompt, decoding: Decoding) -> None:
        """Start a completion with the next step, or as soon as a row is free."""
        failed = prompt_failure(prompt, self._architecture)
        if failed is not None:
            self._refused.append(TokenDelta(prompt, completion=failed))
            return
        length = min(len(prompt.token_ids) + decoding.max_new_tokens, self._architecture.max_positions)
        request = DecodeRequest(prompt, length, decoding.seed)
        # Only powers of two: every key in use holds a batch.
        key = _BatchKey(decoding.temperature, decoding.top_p, size_for(request.length))
        self._waiting.setdefault(key, []).append(request)

    def drop(self, prompt: Prompt) -> None:
        """Cancel a completion."""
        self._refused = [delta for delta in self._refused if delta.prompt is not prompt]
        for batch in self._batches.values():
            batch.drop(prompt)
        left = {
            key: [request for request in requests if request.prompt is not prompt]
            for key, requests in self._waiting.items()
        }
        self._waiting = {key: requests for key, requests in left.items() if requests}

    def advance(self) -> list[TokenDelta]:
        """Decode a few more tokens of every active completion."""
        deltas, self._refused = self._refused, []
        for key in [*self._waiting, *(key for key in self._batches if key not in self._waiting)]:
            deltas += self._advance_batch(key)
        return deltas

    def _advance_batch(self, key: _BatchKey) -> list[TokenDelta]:
        try:
            if key in self._waiting and (key in self._batches or self._make_room()):
                self._prefill(key)
            batch = self._batches.get(key)
            return batch.advance() if batch is not None and batch.is_active else []
        except RuntimeError as error:
            if not self._model.is_out_of_memory(error):
                raise
        # Outside the handler: the error holds references to the arrays of the batch that did not fit.
        is_new, num_batches = key not in self._batches, len(self._batches)
        self._batches = {key: batch for key, batch in self._batches.items() if batch.is_active}
        if is_new and len(self._batches) < num_batches:
            return []  # memory of idle batches was freed: the next step tries again
        return self._fail_all(key)

    def _prefill(self, key: _BatchKey) -> None:
        if key not in self._batches:
            model, num_slots = self._model, key.num_slots
            self._batches[key] = model.batch(
                Decoding(temperature=key.temperature, top_p=key.top_p),
                num_rows=whole_rows(model, min(self._max_rows, model.default_rows(num_slots))),
                num_slots=num_slots,
                steps_per_sync=STEPS_PER_DELTA,
            )
        waiting, batch = self._waiting[key], self._batches[key]
        # No more than fit now: a batch may hold back requests to prefill more of them together.
        first = waiting[: batch.num_free]
        queue = RequestQueue(first)
        while batch.prefill_from(queue):
            pass
        del waiting[: len(first)]
        if not waiting:
            del self._waiting[key]

    def _make_room(self) -> bool:
        """Close an idle batch if there are too many; returns whether another one may be opened."""
        if len(self._batches) < MAX_BATCHES:
            return True
        idle = next((key for key, batch in self._batches.items() if not batch.is_active), None)
        if idle is not None:
            del self._batches[idle]
        return idle is not None

    def _fail_all(self, key: _BatchKey) -> list[TokenDelta]:
        """Fail every request of a batch that does not fit in memory."""
        batch, requests = self._batches.pop(key, None), self._waiting.pop(key, [])
        # A prompt whose prefill ran out of memory is in both.
        prompts = {id(request.prompt): request.prompt for request in requests}
        prompts |= {id(prompt): prompt for prompt in (batch.prompts if batch else ())}
        return [
            TokenDelta(prompt, completion=out_of_memory_failure(prompt, key.num_slots))
            for prompt in prompts.values()
        ]
