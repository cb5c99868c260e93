"""Prompt, completion, Generator protocol, refused prompts."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from tunix_rt.engines.types import Decoding, DeviceRequest, FailureCode
from tunix_rt.engines.weights.architecture import Architecture
from tunix_rt.engines.weights.sources import ModelSource
from tunix_rt.recipes.types import FloatFormat, ModelSection
from tunix_rt.tokenization.encoding import TraceEncoder
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle


@dataclass(frozen=True)
class GeneratorRequest:
    """Which model writes, and where."""

    model: ModelSection
    """With `weights: random`: those that training with this `seed` starts from."""
    adapter: Path | None = None
    """A directory in PEFT's layout, put on top of the model. A tokenizer that lies in it is the one that was
    trained with, and is used unless `model` names another."""
    seed: int = 0
    device: DeviceRequest = field(default_factory=DeviceRequest)
    precision: FloatFormat | Literal["auto"] = "auto"
    """Of weights, cache and products. auto: float32 on a CPU, bfloat16 elsewhere."""
    chat_template: str | None = None
    """Name of a built-in template. None: the tokenizer's own, else the default built-in one."""
    markup: MarkupStyle = DEFAULT_MARKUP
    """What stands around reasoning and answer; decides how the beginning of a completion is tokenised."""


@dataclass(frozen=True)
class Prompt:
    """What a completion goes on from."""

    key: str
    """Names the prompt; with the seed and `sample` it decides every draw, whatever the batch."""
    token_ids: Sequence[int]
    sample: int = 0


@dataclass(frozen=True)
class Completion:
    """A completion, or the reason why there is none."""

    prompt: Prompt
    token_ids: tuple[int, ...] = ()
    """What was written, without the token that ended the turn."""
    has_ended: bool = False
    """Whether the model ended its turn; else it was cut off."""
    failure: FailureCode | None = None
    detail: str = ""
    """Of the failure."""


@dataclass(frozen=True)
class TokenDelta:
    """What a completion has gained since the last look."""

    prompt: Prompt
    token_ids: tuple[int, ...] = ()
    completion: Completion | None = None
    """The whole completion, or its failure, once it has ended."""


class StreamingGenerator(Protocol):
    """A loaded model that writes while prompts come and go; a prompt is known by its identity."""

    @property
    def is_busy(self) -> bool:
        """Whether anything is being written or waits for it."""

    def add(self, prompt: Prompt, decoding: Decoding) -> None:
        """Begin a completion with the next step, or as soon as a row is free."""

    def drop(self, prompt: Prompt) -> None:
        """Nobody wants this completion any more; no piece of it comes after this."""

    def advance(self) -> list[TokenDelta]:
        """A few more tokens of everything that is being written. Does nothing when nothing is."""


class Generator(Protocol):
    """A loaded model that writes."""

    @property
    def encoder(self) -> TraceEncoder:
        """Its tokenizer and chat template."""

    @property
    def source(self) -> ModelSource:
        """Where it comes from."""

    @property
    def device(self) -> str:
        """Where it runs, and why there."""

    @property
    def precision(self) -> FloatFormat:
        """Of weights, cache and products."""

    @property
    def max_tokens(self) -> int | None:
        """Prompt and completion together may not be longer; None when the model does not say."""

    def generate(
        self,
        prompts: Sequence[Prompt],
        decoding: Decoding,
        *,
        batch_size: int | None = None,
        on_note: Callable[[str], None] = lambda _: None,
    ) -> Iterator[list[Completion]]:
        """Complete every prompt. Each list holds what has just been finished; the order is the engine's.

        A prompt that cannot be completed comes back with its failure; the others are not touched by it.
        `decoding.num_samples` is the caller's business: one prompt is one completion.

        Args:
            prompts: What to go on from.
            decoding: How tokens are chosen, and how many at most.
            batch_size: Prompts that are written at a time. None: what suits the device.
            on_note: Is given a line for people when something is done otherwise than asked for, such as
                smaller batches because the memory ran out.
        """

    def stream(self, *, max_rows: int) -> StreamingGenerator:
        """The same model for prompts that arrive one by one; each is written as `write` writes it.

        Args:
            max_rows: Completions that are written side by side, for each way of choosing tokens.
        """


class GeneratingEngine(Protocol):
    """An engine that can write."""

    @property
    def name(self) -> str:
        """As records name it."""

    def open_generator(self, request: GeneratorRequest) -> Generator:
        """Load the model. Raises errors of `core.errors`."""


def prompt_failure(prompt: Prompt, architecture: Architecture) -> Completion | None:
    """The failure of a prompt that the model cannot read; None when it can."""
    num_tokens, vocab_size = len(prompt.token_ids), architecture.vocab_size
    if num_tokens == 0:
        return _failure(prompt, "prompt-refused", "The prompt has no tokens.")
    if max(prompt.token_ids) >= vocab_size:
        detail = f"The prompt holds the id {max(prompt.token_ids)}; the model has {vocab_size} tokens."
        return _failure(prompt, "prompt-refused", detail)
    if num_tokens >= architecture.max_positions:
        most = architecture.max_positions
        detail = f"The prompt has {num_tokens} tokens; with an answer the model takes {most}."
        return _failure(prompt, "prompt-too-long", detail)
    return None


def out_of_memory_failure(prompt: Prompt, num_slots: int) -> Completion:
    """The failure of a prompt for which the device has no memory."""
    detail = f"The device has no memory for one row of {num_slots} tokens; lower max_new_tokens."
    return _failure(prompt, "out-of-memory", detail)


def _failure(prompt: Prompt, code: FailureCode, detail: str) -> Completion:
    return Completion(prompt, failure=code, detail=detail)
