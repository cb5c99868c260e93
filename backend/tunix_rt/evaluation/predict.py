"""Generate completions for an eval set, batch by batch; resumable."""

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

# What marks the beginning of the answer in each markup.
_ANSWER_MARKS: dict[MarkupStyle, str] = {
    "reasoning": "<answer>",
    "counted": "<answer>",
    "think": "</think>",
    "boxed": "\\boxed{",
    "hash": "####",
}


@dataclass(frozen=True)
class GenerationOptions:
    """How completions are generated."""

    decoding: Decoding
    batch_size: int | None = None
    """None: the engine's choice."""
    on_note: Callable[[str], None] = lambda _: None
    """Receives a message when the engine deviates from the request."""


def generate(
    generator: Generator,
    items: Sequence[EvalItem],
    options: GenerationOptions,
    done: Container[GenerationKey],
) -> Iterator[list[Generation]]:
    """Generate every item and sample that is not done, batch by batch.

    A prompt that the chat template refuses is a typed failure of that item; the others are generated.
    """
    encoder = generator.encoder
    prompts, refused = _prompts(encoder, items, options.decoding.num_samples, done)
    if refused:
        yield refused
    written = generator.generate(
        prompts, options.decoding, batch_size=options.batch_size, on_note=options.on_note
    )
    for batch in written:
        yield [generation_of(encoder, one) for one in batch]


def generation_of(encoder: TraceEncoder, written: Completion) -> Generation:
    """The record of a completion, or of the failure in its place."""
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
    """The number of tokens before the answer; all of them if no answer can be located."""
    token_ids = written.token_ids
    position = text.find(_ANSWER_MARKS[encoder.markup])
    if position < 0:
        return len(token_ids) + written.has_ended

    def num_chars(num_tokens: int) -> int:
        return len(decode(encoder, token_ids[:num_tokens]) or "")

    return bisect_right(range(len(token_ids) + 1), position, key=num_chars) - 1


@dataclass(frozen=True)
class EvaluationProgress:
    """How many completions are done, and how fast this process generates them."""

    num_done: int
    num_total: int
    tokens_per_s: float

    def __str__(self) -> str:
        return f"{self.num_done:,}/{self.num_total:,} texts | {self.tokens_per_s:,.0f} tokens/s"


class EvaluationView(Protocol):
    """Shows the progress of an evaluation."""

    def show_line(self, text: str) -> None:
        """Show a message."""

    def show_hashing(self, fraction: float) -> None:
        """Show how much of the weights has been hashed to identify them."""

    def show_progress(self, progress: EvaluationProgress) -> None:
        """Called after every batch."""


@dataclass(frozen=True)
class ModelAccess:
    """How to load the model; it is loaded only if completions are missing."""

    engine: GeneratingEngine
    request: GeneratorRequest
    batch_size: int | None = None
    """None: the engine's choice."""


def generate_missing(
    directory: EvaluationDir,
    start: EvaluationStart,
    items: Sequence[EvalItem],
    access: ModelAccess,
    view: EvaluationView,
) -> None:
    """Generate the completions that are not in the directory yet.

    The model is loaded before anything is written: an evaluation that cannot start leaves no files.

    Raises:
        ConflictError: The existing completions come from another engine or another precision.
    """
    done = directory.read_generations()
    num_done, num_total = len(done), len(items) * start.protocol.decoding.num_samples
    if num_done == num_total:
        return
    if done:
        view.show_line(f"resuming {directory.path}: {num_done:,} of {num_total:,} texts are done")
    earlier = directory.read_batches()
    _require_same_engine(earlier, access.engine)
    generator = access.engine.open_generator(access.request)
    _require_same_precision(earlier, generator)
    directory.begin(start, items)
    view.show_line(f"evaluating {start.model.name} on {generator.device}, {generator.precision}")
    options = GenerationOptions(start.protocol.decoding, access.batch_size, view.show_line)
    num_new_tokens, seconds = 0, 0.0
    with directory.writing() as writer:
        batch_start_s = time.monotonic()
        for generations in generate(generator, items, options, done):
            batch = FinishedBatch(
                engine=access.engine.name,
                batch_size=access.batch_size,
                device=generator.device,
                precision=generator.precision,
                num_generations=len(generations),
                num_new_tokens=sum(generation.num_new_tokens for generation in generations),
                seconds=round(time.monotonic() - batch_start_s, 6),
            )
            writer.add(generations, batch)
            num_done += batch.num_generations
            num_new_tokens += batch.num_new_tokens
            seconds += batch.seconds
            tokens_per_s = num_new_tokens / seconds if seconds else 0.0
            view.show_progress(EvaluationProgress(num_done, num_total, tokens_per_s))
            batch_start_s = time.monotonic()


def _require_same_engine(earlier: Sequence[FinishedBatch], engine: GeneratingEngine) -> None:
    """All completions of an evaluation come from one engine: each samples in its own way."""
    others = sorted({batch.engine for batch in earlier} - {engine.name})
    if others:
        raise ConflictError(
            f"The existing texts were written by the {others[0]} engine, new ones would be by {engine.name}.",
            next_step=f"Add --engine {others[0]}, or choose another directory with --output.",
        )


def _require_same_precision(earlier: Sequence[FinishedBatch], generator: Generator) -> None:
    """All completions of an evaluation have one precision: it changes what a model generates."""
    others = sorted({batch.precision for batch in earlier} - {generator.precision})
    if others:
        raise ConflictError(
            f"The existing texts were written in {others[0]}, new ones would be in {generator.precision}.",
            next_step=f"Add --precision {others[0]}, or choose another directory with --output.",
        )
