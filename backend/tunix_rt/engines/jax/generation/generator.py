"""A loaded model that writes: prompts into groups, groups into batches, smaller ones if memory runs out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import jax

from tunix_rt.config.recipe import FloatFormat
from tunix_rt.core.errors import InvalidInputError
from tunix_rt.core.evaluation.prediction import FailureCode
from tunix_rt.core.evaluation.protocol import Decoding
from tunix_rt.engines.encoding import TraceEncoder
from tunix_rt.engines.generation import Prompt, Written
from tunix_rt.engines.jax.devices import DeviceChoice
from tunix_rt.engines.jax.generation.batch import Batch, LoadedModel
from tunix_rt.engines.jax.generation.batch_sizes import default_rows, power_of_two_above
from tunix_rt.engines.jax.generation.prompt_groups import Task, grouped
from tunix_rt.engines.jax.out_of_memory import is_out_of_memory
from tunix_rt.engines.models import ModelSource


@dataclass(frozen=True, eq=False)
class JaxGenerator:
    """Writes with our own decoder."""

    model: LoadedModel
    encoder: TraceEncoder
    source: ModelSource
    choice: DeviceChoice
    precision: FloatFormat

    @property
    def device(self) -> str:
        """Where it runs, and why there."""
        return str(self.choice)

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
        pending, num_slots = list(group), group[0].num_slots
        num_rows = self._num_rows(group, batch_size)
        while pending:
            done: set[int] = set()
            try:
                # Without a name: it must be gone before the next one is made.
                for finished in Batch(self.model, decoding, num_rows=num_rows, num_slots=num_slots).write(
                    pending
                ):
                    done.update(id(written.prompt) for written in finished)
                    yield finished
                return
            except jax.errors.JaxRuntimeError as error:
                if not is_out_of_memory(error):
                    raise
            # Outside of the handler: the error holds on to the arrays of the batch that did not fit.
            pending = [task for task in pending if id(task.prompt) not in done]
            if num_rows > self.model.num_devices:
                num_rows = self._whole_rows(num_rows // 2)
                on_note(f"out of memory: going on with batches of {num_rows}")
            else:
                failed, pending = pending[:num_rows], pending[num_rows:]
                yield [_out_of_memory(task) for task in failed]

    def _num_rows(self, group: Sequence[Task], batch_size: int | None) -> int:
        """Rows of the batches: as asked for or as fits, but not more than there are prompts."""
        if batch_size is None:
            num_bytes = sum(leaf.nbytes for leaf in jax.tree.leaves(self.model.weights))
            batch_size = default_rows(self.choice, self.model.decoder, num_bytes, group[0].num_slots)
        return self._whole_rows(min(batch_size, power_of_two_above(len(group))))

    def _whole_rows(self, num_rows: int) -> int:
        """The same number of rows on every device."""
        return -(-num_rows // self.model.num_devices) * self.model.num_devices


def _failure(prompt: Prompt, code: FailureCode, detail: str) -> Written:
    return Written(prompt, failure=code, detail=detail)


def _out_of_memory(task: Task) -> Written:
    detail = f"The device has no memory for one row of {task.num_slots} tokens; lower max_new_tokens."
    return _failure(task.prompt, "out-of-memory", detail)
