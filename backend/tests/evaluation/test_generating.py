"""Generation for an eval set: prompts and recorded completions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from support.evaluation_starts import sum_items

from tunix_rt.engines.generation.base import Completion, Prompt
from tunix_rt.engines.types import Decoding
from tunix_rt.evaluation.predict import GenerationOptions, generate, generation_of
from tunix_rt.tokenization.chat_template import ChatTemplate, choose_template
from tunix_rt.tokenization.encoding import TraceEncoder
from tunix_rt.tokenization.tokenizer import load_tokenizer
from tunix_rt.traces.types import MarkupStyle

ITEMS = sum_items(3)
TEXT = "<reasoning>\n1 + 7 = 8\n</reasoning>\n<answer>8</answer>"
TOKENIZER = load_tokenizer("tiny")
ENCODER = TraceEncoder(TOKENIZER, choose_template(TOKENIZER))


def token_ids_of(text: str) -> tuple[int, ...]:
    return tuple(TOKENIZER.encode_as_content(text).ids)


@dataclass
class FixedGenerator:
    """A generator that writes the same text for every prompt, two prompts at a time."""

    encoder: TraceEncoder = ENCODER
    text: str = TEXT
    prompts: list[Prompt] = field(default_factory=list)

    def generate(
        self,
        prompts: Sequence[Prompt],
        decoding: Decoding,
        *,
        batch_size: int | None = None,
        on_note: Callable[[str], None] = lambda _: None,
    ) -> Iterator[list[Completion]]:
        self.prompts += prompts
        completions = [Completion(prompt, token_ids_of(self.text), has_ended=True) for prompt in prompts]
        for start in range(0, len(completions), batch_size or 2):
            yield completions[start : start + (batch_size or 2)]


def generated_keys(
    generator: FixedGenerator, options: GenerationOptions, done: set[tuple[str, int]] | None = None
) -> list[list[str]]:
    batches = generate(generator, ITEMS, options, done or set())  # type: ignore[arg-type]
    return [[f"{generation.item_id}/{generation.sample}" for generation in batch] for batch in batches]


def test_prompts_are_encoded_as_in_training() -> None:
    generator = FixedGenerator()
    assert generated_keys(generator, GenerationOptions(Decoding())) == [["sum-0/0", "sum-1/0"], ["sum-2/0"]]
    assert [list(prompt.token_ids) for prompt in generator.prompts] == [
        ENCODER.encode_prompt(item.prompt) for item in ITEMS
    ]


def test_only_missing_samples_are_generated() -> None:
    options = GenerationOptions(Decoding(temperature=1.0, num_samples=2), batch_size=8)
    done = {("sum-0", 0), ("sum-0", 1), ("sum-1", 1)}
    assert generated_keys(FixedGenerator(), options, done) == [["sum-1/0", "sum-2/0", "sum-2/1"]]


def test_refused_prompt_fails_alone() -> None:
    source = "{% if '1 + 7' in messages[0].content %}{{ raise_exception('no ones') }}{% endif %}"
    source += ENCODER.template.source
    template = ChatTemplate("strict", source, TOKENIZER.named_tokens)
    generator = FixedGenerator(TraceEncoder(TOKENIZER, template))
    [refused], *completed = generate(generator, ITEMS, GenerationOptions(Decoding()), set())  # type: ignore[arg-type]
    assert refused.item_id == "sum-1"
    assert refused.text is None
    assert refused.failure is not None
    assert refused.failure.code == "prompt-refused"
    assert "no ones" in refused.failure.detail
    assert [generation.item_id for batch in completed for generation in batch] == ["sum-0", "sum-2"]


@pytest.mark.parametrize(
    ("markup", "reasoning", "rest"),
    [
        ("reasoning", "<reasoning>\n1 + 7 = 8\n</reasoning>\n", "<answer>8</answer>"),
        ("think", "<think>\n1 + 7 = 8\n", "</think>\n\n8"),
        ("boxed", "1 + 7 = 8\n", "\\boxed{8}"),
        ("hash", "1 + 7 = 8\n", "#### 8"),
    ],
)
def test_reasoning_and_new_tokens_are_counted(markup: MarkupStyle, reasoning: str, rest: str) -> None:
    encoder = TraceEncoder(TOKENIZER, ENCODER.template, markup)
    token_ids = token_ids_of(reasoning) + token_ids_of(rest)
    generation = generation_of(encoder, Completion(Prompt("a", [1, 2]), token_ids, has_ended=True))
    assert generation.text == reasoning + rest
    assert generation.num_reasoning_tokens == len(token_ids_of(reasoning))
    assert generation.num_new_tokens == len(token_ids) + 1
    assert generation.num_prompt_tokens == 2
    assert generation.finish == "end-of-turn"


def test_unanswered_text_counts_as_reasoning() -> None:
    token_ids = token_ids_of("1 + 7 = 8, I think")
    generation = generation_of(ENCODER, Completion(Prompt("a", [1]), token_ids))
    assert generation.finish == "cut-off"
    assert generation.num_reasoning_tokens == generation.num_new_tokens == len(token_ids)


def test_completion_failure_is_preserved() -> None:
    failed = Completion(Prompt("a", [1]), failure="non-finite", detail="NaN at token 3")
    generation = generation_of(ENCODER, failed)
    assert generation.failure is not None
    assert (generation.failure.code, generation.failure.detail) == ("non-finite", "NaN at token 3")
    assert generation.text is None


def test_unknown_token_is_not_text() -> None:
    generation = generation_of(ENCODER, Completion(Prompt("a", [1]), (TOKENIZER.vocab_size + 5,)))
    assert generation.failure is not None
    assert generation.failure.code == "not-text"
