"""The generator of every engine: encoder and precision, parallel batches, retries after out-of-memory.

Batches run in threads and take prompts from one queue, so none waits for another. The completion of a prompt
does not depend on the batch that decodes it.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Event
from typing import Generic, TypeAlias, TypeVar

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.generation.base import (
    Completion,
    GeneratorRequest,
    Prompt,
    out_of_memory_failure,
    prompt_failure,
)
from tunix_rt.engines.generation.scheduler import (
    Batch,
    DecodeRequest,
    DecodingModel,
    RequestQueue,
    grouped,
    power_of_two_above,
    whole_rows,
)
from tunix_rt.engines.generation.streaming import StreamingBatches
from tunix_rt.engines.types import Decoding
from tunix_rt.engines.weights.sources import ModelSource, load_model_tokenizer
from tunix_rt.recipes.types import FloatFormat
from tunix_rt.tokenization.chat_template import choose_template
from tunix_rt.tokenization.encoding import TraceEncoder


def encoder_of(request: GeneratorRequest, source: ModelSource) -> TraceEncoder:
    """The tokenizer and chat template of the model, or of its adapter."""
    model, adapter = request.model, request.adapter
    if model.tokenizer is None and adapter is not None and (adapter / "tokenizer.json").is_file():
        model = model.model_copy(update={"tokenizer": str(adapter)})
    tokenizer = load_model_tokenizer(model, source)
    return TraceEncoder(tokenizer, choose_template(tokenizer, request.chat_template), request.markup)


def precision_of(request: GeneratorRequest, *, computes_bfloat16: bool) -> FloatFormat:
    """The requested precision; auto is bfloat16 on devices that compute in it."""
    if request.precision != "auto":
        return request.precision
    return "bfloat16" if computes_bfloat16 else "float32"


Report: TypeAlias = list[Completion] | BaseException | None
"""Completions of one sync, the error of a batch, or None when a batch has finished."""


def decode_in_parallel(
    batches: Sequence[Batch], requests: Sequence[DecodeRequest]
) -> Iterator[list[Completion]]:
    """Complete the prompts in order; each list holds the completions of one sync of a batch."""
    if len(batches) == 1:
        yield from batches[0].run(RequestQueue(requests))
        return
    num_rows = sum(batch.num_free for batch in batches)
    # The first prompts are dealt out evenly; the rest go to whichever batch has room.
    first, queue = requests[:num_rows], RequestQueue(requests[num_rows:])
    reports: SimpleQueue[Report] = SimpleQueue()
    start, stop = Event(), Event()
    with ThreadPoolExecutor(len(batches), "batch") as threads:
        try:
            for number, batch in enumerate(batches):
                share = RequestQueue(first[number :: len(batches)])
                threads.submit(_run_batch, batch, share, queue, reports, start, stop)
            # All at once: a thread that is already working would delay the start of the next one.
            start.set()
            num_running = len(batches)
            while num_running:
                report = reports.get()
                if isinstance(report, BaseException):
                    try:
                        raise report
                    finally:
                        del report  # a reference cycle that would keep the arrays of the failed batch alive
                if report is None:
                    num_running -= 1
                else:
                    yield report
        finally:
            stop.set()
            start.set()


def _run_batch(
    batch: Batch,
    share: RequestQueue,
    queue: RequestQueue,
    reports: "SimpleQueue[Report]",
    start: Event,
    stop: Event,
) -> None:
    start.wait()
    try:
        while batch.prefill_from(share):
            pass
        for finished in batch.run(queue):
            reports.put(finished)
            if stop.is_set():
                return
        reports.put(None)
    except BaseException as error:
        reports.put(error)
        raise


ModelT = TypeVar("ModelT", bound=DecodingModel)


@dataclass(frozen=True, eq=False)
class BatchGenerator(Generic[ModelT]):
    """`Generator` for every engine with a `DecodingModel`."""

    model: ModelT
    encoder: TraceEncoder
    source: ModelSource
    device: str
    precision: FloatFormat

    @property
    def max_tokens(self) -> int:
        """The most tokens of prompt and completion together."""
        return self.source.architecture.max_positions

    def generate(
        self,
        prompts: Sequence[Prompt],
        decoding: Decoding,
        *,
        batch_size: int | None = None,
        on_note: Callable[[str], None] = lambda _: None,
    ) -> Iterator[list[Completion]]:
        """Complete every prompt, as described in `Generator`."""
        if batch_size is not None and batch_size < 1:
            raise InvalidInputError(
                f"The batch size is {batch_size}.",
                next_step="Choose 1 or more, or leave the batch size out.",
            )
        failures = [
            failed for prompt in prompts if (failed := prompt_failure(prompt, self.source.architecture))
        ]
        if failures:
            yield failures
        refused_prompts = {id(failed.prompt) for failed in failures}
        requests = [
            DecodeRequest(
                prompt, min(len(prompt.token_ids) + decoding.max_new_tokens, self.max_tokens), decoding.seed
            )
            for prompt in prompts
            if id(prompt) not in refused_prompts
        ]
        for group in grouped(requests):
            yield from self._generate_group(group, decoding, batch_size, on_note)

    def stream(self, *, max_rows: int) -> StreamingBatches:
        """Decode prompts that arrive one by one."""
        return StreamingBatches(self.model, self.source.architecture, max_rows=max_rows)

    def _generate_group(
        self,
        group: Sequence[DecodeRequest],
        decoding: Decoding,
        batch_size: int | None,
        on_note: Callable[[str], None],
    ) -> Iterator[list[Completion]]:
        """Complete prompts that share a shape, in smaller batches after running out of memory."""
        pending = {id(request.prompt): request for request in group}
        num_slots = group[0].num_slots
        # As many rows as requested or as fit, but not more than there are prompts.
        most = self.model.default_rows(num_slots) if batch_size is None else batch_size
        num_rows = whole_rows(self.model, min(most, power_of_two_above(len(group))))
        while pending:
            try:
                yield from self._generate_batch(pending, decoding, num_rows, num_slots)
                continue
            except RuntimeError as error:
                if not self.model.is_out_of_memory(error):
                    raise
            # Outside the handler: the error holds references to the arrays of the batch that did not fit.
            if num_rows > self.model.num_devices:
                num_rows = whole_rows(self.model, num_rows // 2)
                on_note(f"out of memory: continuing with batches of {num_rows}")
            else:
                requests = [pending.pop(key) for key in list(pending)[:num_rows]]
                yield [out_of_memory_failure(request.prompt, num_slots) for request in requests]

    def _generate_batch(
        self, pending: dict[int, DecodeRequest], decoding: Decoding, num_rows: int, num_slots: int
    ) -> Iterator[list[Completion]]:
        """Complete pending requests and remove them. The batches are freed on return and on error."""
        batches = self.model.batches(decoding, num_rows=num_rows, num_slots=num_slots)
        for finished in decode_in_parallel(batches, list(pending.values())):
            for completion in finished:
                del pending[id(completion.prompt)]
            yield finished
