"""A loaded model that writes: prompts into groups, groups into batches, smaller ones if memory runs out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from tunix_rt.config.recipe import FloatFormat
from tunix_rt.core.errors import InvalidInputError
from tunix_rt.core.evaluation.prediction import FailureCode
from tunix_rt.core.evaluation.protocol import Decoding
from tunix_rt.engines.encoding import TraceEncoder
from tunix_rt.engines.generation import Prompt, Written
from tunix_rt.engines.generation_batch import Batch
from tunix_rt.engines.generation_tasks import Task, grouped, power_of_two_above
from tunix_rt.engines.models import ModelSource


class WritingModel(Protocol):
    """A model on its devices, as an engine holds it."""

    @property
    def num_devices(self) -> int:
        """Each of them has a copy of the weights, and its part of every batch."""

    def default_rows(self, num_slots: int) -> int:
        """Rows of a batch over all devices when nobody says how many."""

    def batch(self, decoding: Decoding, *, num_rows: int, num_slots: int) -> Batch:
        """An empty batch, with room for `num_slots` tokens a row."""

    def is_out_of_memory(self, error: RuntimeError) -> bool:
        """Whether the error says that a device has no memory left."""


ModelT = TypeVar("ModelT", bound=WritingModel)


@dataclass(frozen=True, eq=False)
class BatchGenerator(Generic[ModelT]):
    """`engines.generation.Generator` for every engine that has a `WritingModel`."""

    model: ModelT
    encoder: TraceEncoder
    source: ModelSource
    device: str
    precision: FloatFormat

    @property
    def max_tokens(self) -> int:
        """Prompt and completion together may not be longer."""
        return self.source.architecture.max_positions

    def write(
        self,
        prompts: Sequence[Prompt],
        decoding: Decoding,
        *,
        batch_size: int | None = None,
        on_note: Callable[[str], None] = lambda _: None,
    ) -> Iterator[list[Written]]:
        """Complete every prompt; `engines.generation.Generator` says how."""
        if batch_size is not None and batch_size < 1:
            raise InvalidInputError(
                f"A batch of {batch_size} prompts writes nothing.",
                next_step="Choose 1 or more, or leave the batch size out.",
            )
        refused = [failed for prompt in prompts if (failed := self._refused(prompt))]
        if refused:
            yield refused
        refused_prompts = {id(failed.prompt) for failed in refused}
        tasks = [
            Task(prompt, min(len(prompt.token_ids) + decoding.max_new_tokens, self.max_tokens))
            for prompt in prompts
            if id(prompt) not in refused_prompts
        ]
        for group in grouped(tasks):
            yield from self._write_group(group, decoding, batch_size, on_note)

    def _refused(self, prompt: Prompt) -> Written | None:
        """The failure of a prompt that the model cannot read."""
        num_tokens, vocab_size = len(prompt.token_ids), self.source.architecture.vocab_size
        if num_tokens == 0:
            return _failure(prompt, "prompt-refused", "The prompt has no tokens.")
        if max(prompt.token_ids) >= vocab_size:
            detail = f"The prompt holds the id {max(prompt.token_ids)}; the model has {vocab_size} tokens."
            return _failure(prompt, "prompt-refused", detail)
        if num_tokens >= self.max_tokens:
            detail = f"The prompt has {num_tokens} tokens; with an answer the model takes {self.max_tokens}."
            return _failure(prompt, "prompt-too-long", detail)
        return None

    def _write_group(
        self,
        group: Sequence[Task],
        decoding: Decoding,
        batch_size: int | None,
        on_note: Callable[[str], None],
    ) -> Iterator[list[Written]]:
        """Complete prompts that share a shape; with smaller batches where the memory runs out."""
        pending = {id(task.prompt): task for task in group}
        num_slots = group[0].num_slots
        num_rows = self._num_rows(group, batch_size)
        while pending:
            try:
                yield from self._write_batch(pending, decoding, num_rows, num_slots)
                continue
            except RuntimeError as error:
                if not self.model.is_out_of_memory(error):
                    raise
            # Outside of the handler: the error holds on to the arrays of the batch that did not fit.
            if num_rows > self.model.num_devices:
                num_rows = self._whole_rows(num_rows // 2)
                on_note(f"out of memory: going on with batches of {num_rows}")
            else:
                yield [_out_of_memory(pending.pop(key)) for key in list(pending)[:num_rows]]

    def _write_batch(
        self, pending: dict[int, Task], decoding: Decoding, num_rows: int, num_slots: int
    ) -> Iterator[list[Written]]:
        """Complete what is pending and strike it off. However this ends, the batch is gone afterwards."""
        batch = self.model.batch(decoding, num_rows=num_rows, num_slots=num_slots)
        for finished in batch.write(list(pending.values())):
            for written in finished:
                del pending[id(written.prompt)]
            yield finished

    def _num_rows(self, group: Sequence[Task], batch_size: int | None) -> int:
        """Rows of the batches: as asked for or as fits, but not more than there are prompts."""
        most = self.model.default_rows(group[0].num_slots) if batch_size is None else batch_size
        return self._whole_rows(min(most, power_of_two_above(len(group))))

    def _whole_rows(self, num_rows: int) -> int:
        """The same number of rows on every device."""
        return -(-num_rows // self.model.num_devices) * self.model.num_devices


def _failure(prompt: Prompt, code: FailureCode, detail: str) -> Written:
    return Written(prompt, failure=code, detail=detail)


def _out_of_memory(task: Task) -> Written:
    detail = f"The device has no memory for one row of {task.num_slots} tokens; lower max_new_tokens."
    return _failure(task.prompt, "out-of-memory", detail)
