"""Requests that arrive and leave while others decode.

Within a batch tokens are chosen in one way, and rows have one length. So there is a batch for each way and
length that is asked for, and all of them advance in turn. A prompt waits only while its batch is full.
"""

from typing import NamedTuple

from tunix_rt.engines.generation.base import Piece, Prompt, out_of_memory, refused
from tunix_rt.engines.generation.scheduler import Batch, Task, Waiting, WritingModel, size_for, whole_rows
from tunix_rt.engines.types import Decoding
from tunix_rt.engines.weights.architecture import Architecture

STEPS_PER_PIECE = 4
"""Fewer than evaluation has: somebody reads along."""
MAX_BATCHES = 4
"""Each has a cache of its own. One that nobody uses gives way to the next."""


class _Kind(NamedTuple):
    """What the prompts of a batch share."""

    temperature: float
    top_p: float
    num_slots: int


class LiveBatches:
    """`engines.generation.LiveWriter` for every engine that has a `WritingModel`."""

    def __init__(self, model: WritingModel, architecture: Architecture, *, max_rows: int) -> None:
        """Take a model; memory is taken when the first prompt comes."""
        self._model = model
        self._architecture = architecture
        self._max_rows = max_rows
        self._batches: dict[_Kind, Batch] = {}
        self._waiting: dict[_Kind, list[Task]] = {}
        self._refused: list[Piece] = []

    @property
    def is_busy(self) -> bool:
        """Whether anything is being written or waits for it."""
        return bool(self._refused or self._waiting) or any(b.is_writing for b in self._batches.values())

    def add(self, prompt: Prompt, decoding: Decoding) -> None:
        """Begin a completion with the next step, or as soon as a row is free."""
        failed = refused(prompt, self._architecture)
        if failed is not None:
            self._refused.append(Piece(prompt, written=failed))
            return
        length = min(len(prompt.token_ids) + decoding.max_new_tokens, self._architecture.max_positions)
        task = Task(prompt, length, decoding.seed)
        # Powers of two alone: every kind that is in use holds a batch.
        kind = _Kind(decoding.temperature, decoding.top_p, size_for(task.length))
        self._waiting.setdefault(kind, []).append(task)

    def drop(self, prompt: Prompt) -> None:
        """Nobody wants this completion any more."""
        self._refused = [piece for piece in self._refused if piece.prompt is not prompt]
        for batch in self._batches.values():
            batch.drop(prompt)
        left = {
            kind: [task for task in tasks if task.prompt is not prompt]
            for kind, tasks in self._waiting.items()
        }
        self._waiting = {kind: tasks for kind, tasks in left.items() if tasks}

    def advance(self) -> list[Piece]:
        """A few more tokens of everything that is being written."""
        pieces, self._refused = self._refused, []
        for kind in [*self._waiting, *(kind for kind in self._batches if kind not in self._waiting)]:
            pieces += self._advance_kind(kind)
        return pieces

    def _advance_kind(self, kind: _Kind) -> list[Piece]:
        try:
            return self._admit_and_advance(kind)
        except RuntimeError as error:
            if not self._model.is_out_of_memory(error):
                raise
        # Outside of the handler: the error holds on to the arrays of the batch that did not fit.
        is_new = kind not in self._batches
        if self._close_idle() and is_new:
            return []  # they left their memory: the next step tries again
        return self._given_up(kind)

    def _admit_and_advance(self, kind: _Kind) -> list[Piece]:
        if kind in self._waiting:
            if kind not in self._batches and not self._makes_room():
                return []
            self._admit(kind)
        batch = self._batches.get(kind)
        return batch.advance() if batch is not None and batch.is_writing else []

    def _admit(self, kind: _Kind) -> None:
        if kind not in self._batches:
            self._batches[kind] = self._opened(kind)
        waiting, batch = self._waiting[kind], self._batches[kind]
        # No more than fit now: a batch would let some wait until more can be read at a time.
        first = waiting[: batch.num_free]
        coming = Waiting(first)
        while batch.take(coming):
            pass
        del waiting[: len(first)]
        if not waiting:
            del self._waiting[kind]

    def _opened(self, kind: _Kind) -> Batch:
        rows = whole_rows(self._model, min(self._max_rows, self._model.default_rows(kind.num_slots)))
        decoding = Decoding(temperature=kind.temperature, top_p=kind.top_p)
        return self._model.batch(
            decoding, num_rows=rows, num_slots=kind.num_slots, steps_per_look=STEPS_PER_PIECE
        )

    def _makes_room(self) -> bool:
        """Whether another batch may be opened; one that nobody uses is closed for it."""
        if len(self._batches) < MAX_BATCHES:
            return True
        idle = next((kind for kind, batch in self._batches.items() if not batch.is_writing), None)
        if idle is not None:
            del self._batches[idle]
        return idle is not None

    def _close_idle(self) -> bool:
        """Close the batches that nobody uses; whether there were any."""
        num_before = len(self._batches)
        self._batches = {kind: batch for kind, batch in self._batches.items() if batch.is_writing}
        return len(self._batches) < num_before

    def _given_up(self, kind: _Kind) -> list[Piece]:
        """The failures of a batch for which there is no memory."""
        batch, tasks = self._batches.pop(kind, None), self._waiting.pop(kind, [])
        # A prompt that was being read when the memory ran out is in both.
        prompts = {id(task.prompt): task.prompt for task in tasks}
        prompts |= {id(prompt): prompt for prompt in (batch.prompts if batch else ())}
        return [Piece(prompt, written=out_of_memory(prompt, kind.num_slots)) for prompt in prompts.values()]
