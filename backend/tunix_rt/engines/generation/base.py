"""Prompts, completions and the protocols of generators; failures of prompts."""

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
    """Which model generates, and on which device."""

    model: ModelSection
    """With `weights: random`, the weights that training with this `seed` starts from."""
    adapter: Path | None = None
    """A directory in PEFT's layout, applied to the model. Its tokenizer is the one used in training, and is
    used here unless `model` names another."""
    seed: int = 0
    device: DeviceRequest = field(default_factory=DeviceRequest)
    precision: FloatFormat | Literal["auto"] = "auto"
    """Of weights, KV cache and matrix products. auto: float32 on a CPU, bfloat16 elsewhere."""
    chat_template: str | None = None
    """Name of a built-in template. None: the tokenizer's own, else the default built-in one."""
    markup: MarkupStyle = DEFAULT_MARKUP
    """The markup around reasoning and answer; decides how the beginning of a completion is tokenised."""


@dataclass(frozen=True)
class Prompt:
    """The tokens that a completion continues."""

    key: str
    """Names the prompt. With the seed and `sample`, it decides the sampling noise, whatever the batch."""
    token_ids: Sequence[int]
    sample: int = 0


@dataclass(frozen=True)
class Completion:
    """The generated tokens of a prompt, or why there are none."""

    prompt: Prompt
    token_ids: tuple[int, ...] = ()
    """The generated tokens, without the one that ended the turn."""
    has_ended: bool = False
    """Whether the model ended its turn; otherwise the completion was cut off."""
    failure: FailureCode | None = None
    detail: str = ""
    """Of the failure."""


@dataclass(frozen=True)
class TokenDelta:
    """The tokens that a completion gained since the last sync."""

    prompt: Prompt
    token_ids: tuple[int, ...] = ()
    completion: Completion | None = None
    """The whole completion or its failure, once it has ended."""


class StreamingGenerator(Protocol):
    """A loaded model that decodes while prompts are added and dropped. Prompts are compared by identity."""

    @property
    def is_busy(self) -> bool:
        """Whether any prompt is being decoded or waiting."""

    def add(self, prompt: Prompt, decoding: Decoding) -> None:
        """Start a completion with the next step, or as soon as a row is free."""

    def drop(self, prompt: Prompt) -> None:
        """Cancel a completion: no further deltas of it are returned."""

    def advance(self) -> list[TokenDelta]:
        """Decode a few more tokens of every active completion; does nothing when there is none."""


class Generator(Protocol):
    """A loaded model that generates completions."""

    @property
    def encoder(self) -> TraceEncoder:
        """Its tokenizer and chat template."""

    @property
    def source(self) -> ModelSource:
        """The origin of the model."""

    @property
    def device(self) -> str:
        """The device, and why it was chosen."""

    @property
    def precision(self) -> FloatFormat:
        """Of weights, KV cache and matrix products."""

    @property
    def max_tokens(self) -> int | None:
        """The most tokens of prompt and completion together; None when the model does not say."""

    def generate(
        self,
        prompts: Sequence[Prompt],
        decoding: Decoding,
        *,
        batch_size: int | None = None,
        on_note: Callable[[str], None] = lambda _: None,
    ) -> Iterator[list[Completion]]:
        """Complete every prompt. Each list holds the completions that just finished, in the engine's order.

        A prompt that cannot be completed is returned with its failure and does not affect the others.
        `decoding.num_samples` is up to the caller: one prompt gives one completion.

        Args:
            prompts: The prompts to complete.
            decoding: How tokens are chosen, and how many at most.
            batch_size: Prompts decoded at a time. None: the default of the device.
            on_note: Called with a message when something differs from the request, such as smaller batches
                because the device ran out of memory.
        """

    def stream(self, *, max_rows: int) -> StreamingGenerator:
        """Decode prompts that arrive one by one; each gives the same completion as in `generate`.

        Args:
            max_rows: Completions decoded at a time, for each set of sampling parameters.
        """


class GeneratingEngine(Protocol):
    """An engine that can generate."""

    @property
    def name(self) -> str:
        """The name used in records."""

    def open_generator(self, request: GeneratorRequest) -> Generator:
        """Load the model. Raises errors of `base.errors`."""


def prompt_failure(prompt: Prompt, architecture: Architecture) -> Completion | None:
    """The failure of a prompt that the model cannot take; None when it can."""
    num_tokens, vocab_size, most = len(prompt.token_ids), architecture.vocab_size, architecture.max_positions
    code: FailureCode = "prompt-refused"
    if num_tokens == 0:
        detail = "The prompt has no tokens."
    elif max(prompt.token_ids) >= vocab_size:
        detail = f"The prompt holds the id {max(prompt.token_ids)}; the model has {vocab_size} tokens."
    elif num_tokens >= most:
        code = "prompt-too-long"
        detail = f"The prompt has {num_tokens} tokens; with an answer the model takes {most}."
    else:
        return None
    return Completion(prompt, failure=code, detail=detail)


def out_of_memory_failure(prompt: Prompt, num_slots: int) -> Completion:
    """The failure of a prompt that does not fit in the memory of the device."""
    detail = f"The device has no memory for one row of {num_slots} tokens; lower max_new_tokens."
    return Completion(prompt, failure="out-of-memory", detail=detail)
