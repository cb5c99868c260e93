"""Generate completions for an eval set, batch by batch; resumable."""

import time
from bisect import bisect_right
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from tunix_rt.base.errors import ConflictError, DataError
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.types import EvalItem
from tunix_rt.engines.generation.base import Completion, GeneratingEngine, Generator, GeneratorRequest, Prompt
from tunix_rt.engines.generation.text import decode
from tunix_rt.engines.types import Decoding, DeviceRequest
from tunix_rt.evaluation.files import EvaluationDir, GenerationKey
from tunix_rt.evaluation.types import EvaluationStart, FinishedBatch, Generation, GenerationFailure
from tunix_rt.models.find import ModelToEvaluate, Weights, find_model
from tunix_rt.recipes.types import FloatFormat
from tunix_rt.tokenization.encoding import TraceEncoder
from tunix_rt.traces.types import MarkupStyle


@dataclass(frozen=True)
class GenerationRequest:
    """A model and the eval set that it answers."""

    model: str
    """Any name that `find_model` accepts."""
    evalset: str
    """Name or file."""
    markup: MarkupStyle | None = None
    """None: that of the run, else the default."""
    chat_template: str | None = None
    """Name of a built-in template. None: that of the model."""
    weights: Weights = "pretrained"
    weights_seed: int = 0
    revision: str | None = None
    device: DeviceRequest = field(default_factory=DeviceRequest)
    precision: FloatFormat | Literal["auto"] = "auto"
    batch_size: int | None = None
    """None: the engine's choice."""
    output: Path | None = None
    """Directory of the result. None: one in the home directory."""

    def find(self, settings: Settings, engine: GeneratingEngine) -> tuple[ModelToEvaluate, GeneratorRequest]:
        """The model, and the request to load it with this engine.

        Raises:
            NotFoundError: There is no such model.
            ConflictError: It requires another engine.
        """
        model = find_model(
            settings, self.model, weights=self.weights, seed=self.weights_seed, revision=self.revision
        )
        model.require_engine(engine.name)
        return model, GeneratorRequest(
            model=model.section,
            adapter=model.adapter,
            seed=model.seed,
            device=self.device,
            precision=self.precision,
            chat_template=self.chat_template,
            markup=self.markup or model.markup,
        )


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
    prompts: list[Prompt] = []
    refused: list[Generation] = []
    for item in items:
        samples = [one for one in range(options.decoding.num_samples) if (item.id, one) not in done]
        if not samples:
            continue
        try:
            token_ids = encoder.encode_prompt(item.prompt)
        except DataError as error:
            failure = GenerationFailure(code="prompt-refused", detail=error.detail)
            refused += [Generation(item_id=item.id, sample=sample, failure=failure) for sample in samples]
        else:
            prompts += [Prompt(item.id, token_ids, sample) for sample in samples]
    if refused:
        yield refused
    for batch in generator.generate(
        prompts, options.decoding, batch_size=options.batch_size, on_note=options.on_note
    ):
        yield [generation_of(encoder, written) for written in batch]


def generation_of(encoder: TraceEncoder, written: Completion) -> Generation:
    """The record of a completion, or of the failure in its place."""
    prompt, text = written.prompt, None
    num_prompt_tokens, num_new_tokens = len(prompt.token_ids), len(written.token_ids)
    code, detail = written.failure, written.detail
    if code is None:
        text = decode(encoder, written.token_ids)
        code, detail = "not-text", "it wrote a token that its tokenizer does not have"
    if text is None:
        return Generation(
            item_id=prompt.key,
            sample=prompt.sample,
            num_prompt_tokens=num_prompt_tokens,
            num_new_tokens=num_new_tokens,
            failure=GenerationFailure(code=code, detail=detail),
        )
    return Generation(
        item_id=prompt.key,
        sample=prompt.sample,
        text=text,
        finish="end-of-turn" if written.has_ended else "cut-off",
        num_prompt_tokens=num_prompt_tokens,
        num_new_tokens=num_new_tokens + written.has_ended,
        num_reasoning_tokens=_num_reasoning_tokens(encoder, written, text),
    )


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
    _require_same("--engine", {batch.engine for batch in earlier}, access.engine.name, "by the {} engine")
    generator = access.engine.open_generator(access.request)
    _require_same("--precision", {batch.precision for batch in earlier}, generator.precision, "in {}")
    directory.begin(start, items)
    view.show_line(f"evaluating {start.model.name} on {generator.device}, {generator.precision}")
    options = GenerationOptions(start.protocol.decoding, access.batch_size, view.show_line)
    num_new_tokens, seconds = 0, 0.0
    with directory.writing() as add_batch:
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
            add_batch(generations, batch)
            num_done += batch.num_generations
            num_new_tokens += batch.num_new_tokens
            seconds += batch.seconds
            tokens_per_s = num_new_tokens / seconds if seconds else 0.0
            view.show_progress(EvaluationProgress(num_done, num_total, tokens_per_s))
            batch_start_s = time.monotonic()


def _require_same(flag: str, earlier: set[str], current: str, how: str) -> None:
    """All completions of an evaluation have one engine and one precision: both change what is generated."""
    others = sorted(earlier - {current})
    if others:
        raise ConflictError(
            f"The existing texts were written {how.format(others[0])}, "
            f"new ones would be {how.format(current)}.",
            next_step=f"Add {flag} {others[0]}, or choose another directory with --output.",
        )
