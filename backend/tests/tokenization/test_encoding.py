"""Which tokens are trained, and which part each token belongs to."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.encoders import NAMED_TOKENS, make_encoder, trained_fast_tokenizer
from tokenizers import Tokenizer as FastTokenizer

from tunix_rt.base.errors import DataError
from tunix_rt.tokenization.chat_template import choose_template
from tunix_rt.tokenization.encoding import PARTS, EncodedExample, TraceEncoder
from tunix_rt.tokenization.tokenizer import Tokenizer
from tunix_rt.traces.completion import render_completion, reserved_markup_in
from tunix_rt.traces.types import MARKUP_STYLES, MarkupStyle, Trace, trace_from_text_steps

SIX_SEVENS = trace_from_text_steps("What is 6 * 7?", ["six sevens", "6 * 7 = 42"], "42")

NO_GENERATION_PROMPT = """\
{% for m in messages %}<start_of_turn>{{ m.role }}
{{ m.content }}<end_of_turn>
{% endfor %}"""
PROMPT_IS_NOT_A_PREFIX = (
    "{{ messages | length }} {% for m in messages %}{{ m.content }}<end_of_turn>{% endfor %}"
)
NO_END_OF_TURN = """\
{% for m in messages %}{{ m.role }}: {{ m.content }}
{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"""
INST = """\
{% for m in messages %}
{%- if m.role == 'user' %}[INST] {{ m.content }} [/INST]{% else %} {{ m.content }}<eos>{% endif %}
{%- endfor %}"""
EMPTY_THOUGHT = """\
{% for m in messages %}{{ m.role }}:{{ '<think></think>' if m.role == 'assistant' }}{{ m.content }}<eos>
{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"""
UPPER_CASE = "{% for m in messages %}{{ m.content | upper }}<eos>{% endfor %}"


def encode(trace: Trace, encoder: TraceEncoder | None = None) -> EncodedExample:
    [example] = (encoder or make_encoder()).encode([trace])
    return example


def token_texts(example: EncodedExample) -> list[str]:
    starts = [0, *example.ends.tolist()[:-1]]
    return [example.text[start:end] for start, end in zip(starts, example.ends.tolist(), strict=True)]


def text_of(example: EncodedExample, *, trained: bool) -> str:
    kept = example.loss_mask == int(trained)
    return "".join(text for text, keep in zip(token_texts(example), kept, strict=True) if keep)


def text_of_part(example: EncodedExample, part: str) -> str:
    return "".join(
        t for t, code in zip(token_texts(example), example.parts, strict=True) if PARTS[code] == part
    )


def test_only_completion_is_trained() -> None:
    example = encode(SIX_SEVENS)
    assert text_of(example, trained=False) == (
        "<bos><start_of_turn>user\nWhat is 6 * 7?<end_of_turn>\n<start_of_turn>model\n"
    )
    assert text_of(example, trained=True) == render_completion(SIX_SEVENS).text + "<end_of_turn>"


def test_tokens_are_assigned_to_parts() -> None:
    example = encode(SIX_SEVENS)
    assert text_of_part(example, "reasoning") == "six sevens\n6 * 7 = 42"
    assert text_of_part(example, "answer") == "42"
    assert text_of_part(example, "markup") == "<reasoning>\n\n</reasoning>\n<answer></answer>"
    assert text_of_part(example, "end_of_turn") == "<end_of_turn>"


@pytest.mark.parametrize("template", ["gemma", "chatml", "tunix-rt"])
@pytest.mark.parametrize("markup", MARKUP_STYLES)
def test_every_template_and_markup_trains_answer(template: str, markup: MarkupStyle) -> None:
    example = encode(SIX_SEVENS, make_encoder(template, markup))
    assert example.problems == frozenset()
    assert PARTS[example.parts[-1]] == "end_of_turn"
    assert text_of(example, trained=True).startswith(render_completion(SIX_SEVENS, markup).text)
    assert example.loss_mask[example.parts == PARTS.index("answer")].all()


def test_generation_prompt_equals_masked_tokens() -> None:
    encoder = make_encoder()
    example = encode(SIX_SEVENS, encoder)
    assert encoder.encode_prompt(SIX_SEVENS.prompt) == example.token_ids[example.loss_mask == 0].tolist()


def test_inst_template_needs_no_generation_prompt() -> None:
    example = encode(SIX_SEVENS, make_encoder(INST))
    assert example.problems == frozenset()
    assert text_of(example, trained=True) == " " + render_completion(SIX_SEVENS).text + "<eos>"


@pytest.mark.parametrize("template", [NO_GENERATION_PROMPT, PROMPT_IS_NOT_A_PREFIX])
def test_missing_generation_prompt_is_reported(template: str) -> None:
    assert "template-without-generation-prompt" in encode(SIX_SEVENS, make_encoder(template)).problems


def test_text_added_by_template_is_reported() -> None:
    example = encode(SIX_SEVENS, make_encoder(EMPTY_THOUGHT))
    assert example.problems == {"template-adds-text"}
    assert text_of_part(example, "markup").startswith("<think></think><reasoning>")


def test_changed_content_is_reported() -> None:
    example = encode(SIX_SEVENS, make_encoder(UPPER_CASE))
    assert "template-changes-content" in example.problems
    assert text_of_part(example, "answer") == ""


def test_changed_prompt_is_reported() -> None:
    template = (
        "{{ messages[0].content | upper }}:{% if messages[1:] %}{{ messages[1].content }}<eos>{% endif %}"
    )
    assert encode(SIX_SEVENS, make_encoder(template)).problems == {"template-changes-content"}


def test_missing_end_of_turn_is_allowed() -> None:
    example = encode(SIX_SEVENS, make_encoder(NO_END_OF_TURN))
    assert text_of_part(example, "end_of_turn") == ""
    assert text_of_part(example, "answer") == "42"


def test_control_tokens_in_content_stay_text() -> None:
    encoder = make_encoder()
    trace = trace_from_text_steps("Print <end_of_turn>!", ["It is <end_of_turn>", "<bos>"], "<eos>")
    example = encode(trace, encoder)
    control = sorted(encoder.tokenizer.control_token_ids & set(example.token_ids.tolist()))
    plain = encode(SIX_SEVENS, encoder)
    assert example.problems == {"special-token-in-content"}
    assert [int((example.token_ids == token).sum()) for token in control] == [
        int((plain.token_ids == token).sum()) for token in control
    ]
    assert text_of(example, trained=True) == render_completion(trace).text + "<end_of_turn>"
    assert text_of_part(example, "answer") == "<eos>"


def test_markup_control_tokens_stay_whole() -> None:
    tags = ["<reasoning>", "</reasoning>", "<answer>", "</answer>"]
    fast = FastTokenizer.from_str(trained_fast_tokenizer().to_str())
    fast.add_special_tokens(tags)
    tokenizer = Tokenizer("with tags", fast, NAMED_TOKENS, None)
    example = encode(SIX_SEVENS, TraceEncoder(tokenizer, choose_template(tokenizer, "gemma")))
    assert example.problems == frozenset()
    assert [text for text in token_texts(example) if text in tags] == tags
    assert text_of_part(example, "end_of_turn") == "<end_of_turn>"


def test_end_of_turn_id_is_last_token() -> None:
    encoder = make_encoder()
    assert encoder.end_of_turn_id == encoder.tokenizer.token_id("<end_of_turn>")
    assert encoder.end_of_turn_id == encode(SIX_SEVENS, encoder).token_ids[-1]
    assert make_encoder(NO_END_OF_TURN).end_of_turn_id is None


def test_placeholder_characters_are_preserved() -> None:
    trace = trace_from_text_steps("\ufdd00\ufdd1 <bos>", ["\ufdd01\ufdd1"], "\ufdd0")
    example = encode(trace)
    assert text_of(example, trained=True) == render_completion(trace).text + "<end_of_turn>"
    assert "\ufdd00\ufdd1 <bos>" in text_of(example, trained=False)


def test_multi_token_character_is_trained_whole() -> None:
    example = encode(trace_from_text_steps("q", ["sum"], "🧮"))
    is_answer = example.parts == PARTS.index("answer")
    assert is_answer.sum() == 4
    assert text_of_part(example, "answer") == "🧮"


def test_markup_in_content_is_rejected() -> None:
    with pytest.raises(DataError, match="reserves"):
        encode(trace_from_text_steps("q", ["</reasoning>"], "1"))


content = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), min_size=1, max_size=20
)
content = st.one_of(content, st.sampled_from(["<end_of_turn>", "<bos>x", "a<|im_end|>", "\ufdd00\ufdd1"]))
content = content.filter(lambda text: bool(text.strip()) and not reserved_markup_in(text))


@settings(deadline=None)
@given(
    prompt=content, step=content, answer=content, template=st.sampled_from(["gemma", "chatml", "tunix-rt"])
)
def test_any_content_is_trained_as_text(prompt: str, step: str, answer: str, template: str) -> None:
    encoder = make_encoder(template)
    trace = trace_from_text_steps(prompt, [step], answer)
    example = encode(trace, encoder)
    assert "".join(token_texts(example)) == example.text
    assert render_completion(trace).text in text_of(example, trained=True)
    is_control = np.isin(example.token_ids, sorted(encoder.tokenizer.control_token_ids))
    plain = encode(SIX_SEVENS, encoder)
    assert is_control.sum() == np.isin(plain.token_ids, sorted(encoder.tokenizer.control_token_ids)).sum()
    assert (np.diff(example.loss_mask.astype(int)) >= 0).all()


def test_batch_encoding_equals_single_encoding() -> None:
    encoder = make_encoder()
    traces = [trace_from_text_steps(f"q{i}", ["s"] * (i % 3 + 1), str(i)) for i in range(1_005)]
    together = list(encoder.encode(traces))
    for position in (0, 999, 1_000, 1_004):
        assert together[position].token_ids.tolist() == encode(traces[position], encoder).token_ids.tolist()
