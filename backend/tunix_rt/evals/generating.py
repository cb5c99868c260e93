"""Eval items to generations: what a generator is asked, and what its tokens say."""

from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tunix_rt.base.errors import DataError
from tunix_rt.core.evaluation.prediction import Generation, GenerationFailure
from tunix_rt.datasets.types import EvalItem
from tunix_rt.engines.generation.base import Generator, Prompt, Written
from tunix_rt.engines.generation.text import decode
from tunix_rt.engines.types import Decoding
from tunix_rt.files.evaluation_dirs import GenerationKey
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
    written = generator.write(prompts, asking.decoding, batch_size=asking.batch_size, on_note=asking.on_note)
    for batch in written:
        yield [generation_of(encoder, one) for one in batch]


def generation_of(encoder: TraceEncoder, written: Written) -> Generation:
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


def _failed(written: Written, failure: GenerationFailure) -> Generation:
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


def _num_reasoning_tokens(encoder: TraceEncoder, written: Written, text: str) -> int:
    """How many tokens end before the answer begins; all of them where nothing says where that is."""
    token_ids = written.token_ids
    position = text.find(_ANSWER_MARKS[encoder.markup])
    if position < 0:
        return len(token_ids) + written.has_ended

    def num_chars(num_tokens: int) -> int:
        return len(decode(encoder, token_ids[:num_tokens]) or "")

    return bisect_right(range(len(token_ids) + 1), position, key=num_chars) - 1
