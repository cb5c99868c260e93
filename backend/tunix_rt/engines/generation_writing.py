"""A loaded model that writes: prompts into groups, groups into batches, smaller ones if memory runs out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.core.evaluation.protocol import Decoding
from tunix_rt.engines.generation import Prompt, Written
from tunix_rt.engines.generation_live import LiveBatches
from tunix_rt.engines.generation_model import WritingModel, whole_rows
from tunix_rt.engines.generation_refusals import out_of_memory, refused
from tunix_rt.engines.generation_side_by_side import write_side_by_side
from tunix_rt.engines.generation_tasks import Task, grouped, power_of_two_above
from tunix_rt.engines.models import ModelSource
from tunix_rt.recipes.types import FloatFormat
from tunix_rt.tokenization.encoding import TraceEncoder

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
        failures = [failed for prompt in prompts if (failed := refused(prompt, self.source.architecture))]
        if failures:
            yield failures
        refused_prompts = {id(failed.prompt) for failed in failures}
        tasks = [
            Task(prompt, min(len(prompt.token_ids) + decoding.max_new_tokens, self.max_tokens), decoding.seed)
            for prompt in prompts
            if id(prompt) not in refused_prompts
        ]
        for group in grouped(tasks):
            yield from self._write_group(group, decoding, batch_size, on_note)

    def live(self, *, max_rows: int) -> LiveBatches:
        """The same model for prompts that arrive one by one."""
        return LiveBatches(self.model, self.source.architecture, max_rows=max_rows)

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
                num_rows = whole_rows(self.model, num_rows // 2)
                on_note(f"out of memory: going on with batches of {num_rows}")
            else:
                tasks = [pending.pop(key) for key in list(pending)[:num_rows]]
                yield [out_of_memory(task.prompt, num_slots) for task in tasks]

    def _write_batch(
        self, pending: dict[int, Task], decoding: Decoding, num_rows: int, num_slots: int
    ) -> Iterator[list[Written]]:
        """Complete what is pending and strike it off. However this ends, the batches are gone afterwards."""
        batches = self.model.batches(decoding, num_rows=num_rows, num_slots=num_slots)
        for finished in write_side_by_side(batches, list(pending.values())):
            for written in finished:
                del pending[id(written.prompt)]
            yield finished

    def _num_rows(self, group: Sequence[Task], batch_size: int | None) -> int:
        """Rows of the batches: as asked for or as fits, but not more than there are prompts."""
        most = self.model.default_rows(group[0].num_slots) if batch_size is None else batch_size
        return whole_rows(self.model, min(most, power_of_two_above(len(group))))
