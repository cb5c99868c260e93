"""The model's texts, batch by batch, resumable."""

import time
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tunix_rt.base.errors import ConflictError, DataError
from tunix_rt.datasets.types import EvalItem
from tunix_rt.engines.generation.base import Completion, GeneratingEngine, Generator, GeneratorRequest, Prompt
from tunix_rt.engines.generation.text import decode
from tunix_rt.engines.types import Decoding
from tunix_rt.evaluation.files import EvaluationDir, GenerationKey
from tunix_rt.evaluation.types import EvaluationStart, FinishedBatch, Generation, GenerationFailure
from tunix_rt.tokenization.encoding import TraceEncoder
from tunix_rt.traces.types import MarkupStyle

# Where the reasoning ends, in each markup.
_ANSWER_MARKS: dict[MarkupStyle, str] = {
    "reasoning": "<answer>",
    "counted": "<answer>",
    "think": "</think>",
    "boxed": "\\boxed{",
    "hash": "####",
}


@dataclass(frozen=True)
class Asking:
    """How items are asked."""

    decoding: Decoding
    batch_size: int | None = None
    """None: the engine's choice."""
    on_note: Callable[[str], None] = lambda _: None
    """Is given a line when something is done otherwise than asked for."""


def generate(
    generator: Generator, items: Sequence[EvalItem], asking: Asking, done: Container[GenerationKey]
) -> Iterator[list[Generation]]:
    """What the model writes for every item and sample that is not done, batch by batch.

    An item whose prompt the chat template refuses has a failure like any other; the rest go on.
    """
    encoder = generator.encoder
    prompts, refused = _prompts(encoder, items, asking.decoding.num_samples, done)
    if refused:
        yield refused
    written = generator.generate(
        prompts, asking.decoding, batch_size=asking.batch_size, on_note=asking.on_note
    )
    for batch in written:
        yield [generation_of(encoder, one) for one in batch]


def generation_of(encoder: TraceEncoder, written: Completion) -> Generation:
    """The record of a completion, or of the reason why there is none."""
    if written.failure is not None:
        return _failed(written, GenerationFailure(code=written.failure, detail=written.detail))
    text = decode(encoder, written.token_ids)
    if text is None:
        detail = "it wrote a token that its tokenizer does not have"
        return _failed(written, GenerationFailure(code="not-text", detail=detail))
    prompt = written.prompt
    return Generation(
        item_id=prompt.key,
        sample=prompt.sample,
        text=text,
        finish="end-of-turn" if written.has_ended else "cut-off",
        num_prompt_tokens=len(prompt.token_ids),
        num_new_tokens=len(written.token_ids) + written.has_ended,
        num_reasoning_tokens=_num_reasoning_tokens(encoder, written, text),
    )


def _failed(written: Completion, failure: GenerationFailure) -> Generation:
    prompt = written.prompt
    return Generation(
        item_id=prompt.key,
        sample=prompt.sample,
        num_prompt_tokens=len(prompt.token_ids),
        num_new_tokens=len(written.token_ids),
        failure=failure,
    )


def _prompts(
    encoder: TraceEncoder, items: Iterable[EvalItem], num_samples: int, done: Container[GenerationKey]
) -> tuple[list[Prompt], list[Generation]]:
    prompts: list[Prompt] = []
    refused: list[Generation] = []
    for item in items:
        samples = [sample for sample in range(num_samples) if (item.id, sample) not in done]
        if not samples:
            continue
        try:
            token_ids = encoder.encode_prompt(item.prompt)
        except DataError as error:
            failure = GenerationFailure(code="prompt-refused", detail=error.detail)
            refused += [Generation(item_id=item.id, sample=sample, failure=failure) for sample in samples]
        else:
            prompts += [Prompt(item.id, token_ids, sample) for sample in samples]
    return prompts, refused


def _num_reasoning_tokens(encoder: TraceEncoder, written: Completion, text: str) -> int:
    """How many tokens end before the answer begins; all of them where nothing says where that is."""
    token_ids = written.token_ids
    position = text.find(_ANSWER_MARKS[encoder.markup])
    if position < 0:
        return len(token_ids) + written.has_ended

    def num_chars(num_tokens: int) -> int:
        return len(decode(encoder, token_ids[:num_tokens]) or "")

    return bisect_right(range(len(token_ids) + 1), position, key=num_chars) - 1


@dataclass(frozen=True)
class EvaluationProgress:
    """How far the texts are."""

    num_done: int
    num_total: int
    tokens_per_s: float
    """Of this process."""

    def __str__(self) -> str:
        return f"{self.num_done:,}/{self.num_total:,} texts | {self.tokens_per_s:,.0f} tokens/s"


class EvaluationView(Protocol):
    """Where a person looks."""

    def show_line(self, text: str) -> None:
        """Something to read."""

    def show_hashing(self, fraction: float) -> None:
        """The share of the weights that is read to identify them."""

    def show_progress(self, progress: EvaluationProgress) -> None:
        """A batch is done."""


@dataclass(frozen=True)
class ModelAccess:
    """How the model is reached; it is loaded only when something is left to write."""

    engine: GeneratingEngine
    request: GeneratorRequest
    batch_size: int | None = None
    """None: the engine's choice."""

    def open(self) -> Generator:
        """Load the model."""
        return self.engine.open_generator(self.request)


def write_missing_texts(
    directory: EvaluationDir,
    start: EvaluationStart,
    items: Sequence[EvalItem],
    access: ModelAccess,
    view: EvaluationView,
) -> None:
    """Let the model write what is not in the directory yet.

    Nothing is written before the model is loaded: what cannot start leaves no trace.

    Raises:
        ConflictError: What is there was written by another engine, or in another precision.
    """
    done = directory.read_generations()
    num_total = len(items) * start.protocol.decoding.num_samples
    if len(done) == num_total:
        return
    if done:
        view.show_line(f"going on with {directory.path}: {len(done):,} of {num_total:,} texts are there")
    earlier = directory.read_batches()
    _require_same_engine(earlier, access.engine)
    generator = access.open()
    _require_same_precision(earlier, generator)
    directory.begin(start, items)
    view.show_line(f"asking {start.model.name} on {generator.device}, {generator.precision}")
    asking = Asking(start.protocol.decoding, access.batch_size, view.show_line)
    meter = _Meter(len(done), num_total)
    with directory.writing() as writer:
        for seconds, batch in _timed(generate(generator, items, asking, done)):
            finished = _finished(access, generator, batch, seconds)
            writer.add(batch, finished)
            view.show_progress(meter.after(finished))


class _Meter:
    """Counts what this process has written."""

    def __init__(self, num_done: int, num_total: int) -> None:
        self._num_done, self._num_total = num_done, num_total
        self._num_tokens, self._seconds = 0, 0.0

    def after(self, batch: FinishedBatch) -> EvaluationProgress:
        self._num_done += batch.num_generations
        self._num_tokens += batch.num_new_tokens
        self._seconds += batch.seconds
        tokens_per_s = self._num_tokens / self._seconds if self._seconds else 0.0
        return EvaluationProgress(self._num_done, self._num_total, tokens_per_s)


def _timed(batches: Iterator[list[Generation]]) -> Iterator[tuple[float, list[Generation]]]:
    start_s = time.monotonic()
    for batch in batches:
        yield time.monotonic() - start_s, batch
        start_s = time.monotonic()


def _finished(
    access: ModelAccess, generator: Generator, batch: list[Generation], seconds: float
) -> FinishedBatch:
    return FinishedBatch(
        engine=access.engine.name,
        batch_size=access.batch_size,
        device=generator.device,
        precision=generator.precision,
        num_generations=len(batch),
        num_new_tokens=sum(generation.num_new_tokens for generation in batch),
        seconds=round(seconds, 6),
    )


def _require_same_engine(earlier: Sequence[FinishedBatch], engine: GeneratingEngine) -> None:
    """Texts of one evaluation are written by one engine: each draws in its own way."""
    others = sorted({batch.engine for batch in earlier} - {engine.name})
    if others:
        raise ConflictError(
            f"The texts so far were written by the {others[0]} engine, these would be by {engine.name}.",
            next_step=f"Add --engine {others[0]}, or choose another directory with --output.",
        )


def _require_same_precision(earlier: Sequence[FinishedBatch], generator: Generator) -> None:
    """Texts of one evaluation are written in one precision: it changes what a model says."""
    others = sorted({batch.precision for batch in earlier} - {generator.precision})
    if others:
        raise ConflictError(
            f"The texts so far were written in {others[0]}, these would be in {generator.precision}.",
            next_step=f"Add --precision {others[0]}, or choose another directory with --output.",
        )
