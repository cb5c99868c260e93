"""Encoding prompts with partial completions, and decoding completions."""

import pytest
from support.encoders import CONTROL_TOKENS, make_encoder, make_tokenizer, trained_fast_tokenizer
from tokenizers import AddedToken
from tokenizers import Tokenizer as FastTokenizer

from tunix_rt.base.errors import DataError
from tunix_rt.engines.generation.text import decode, encode_continuation
from tunix_rt.tokenization.chat_template import builtin_template_names, choose_template
from tunix_rt.tokenization.encoding import TraceEncoder
from tunix_rt.tokenization.tokenizer import Tokenizer
from tunix_rt.traces.completion import render_completion
from tunix_rt.traces.types import trace_from_text_steps

TRACE = trace_from_text_steps("What is 6 * 7?", ["six sevens are 42", "so 42"], "42")
COMPLETION = render_completion(TRACE).text


@pytest.mark.parametrize("template", builtin_template_names())
def test_continuation_matches_training_ids(template: str) -> None:
    encoder = make_encoder(template)
    [trained] = encoder.encode([TRACE])
    token_ids = encode_continuation(encoder, TRACE.prompt, COMPLETION)
    assert token_ids == trained.token_ids[: len(token_ids)].tolist()
    assert decode(encoder, token_ids[len(encoder.encode_prompt(TRACE.prompt)) :]) == COMPLETION


def test_partial_completion_is_training_prefix() -> None:
    encoder = make_encoder()
    [trained] = encoder.encode([TRACE])
    token_ids = encode_continuation(encoder, TRACE.prompt, "<reasoning>\nsix sevens are 42\n")
    assert token_ids == trained.token_ids[: len(token_ids)].tolist()
    assert len(token_ids) < len(trained)


def test_template_prefix_is_kept() -> None:
    template = (
        "{% for m in messages %}[{{ m.role }}]{% if m.role == 'assistant' %}note: {% endif %}"
        "{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
    )
    encoder = make_encoder(template)
    continued = encode_continuation(encoder, "6?", "<reasoning>")
    assert decode(encoder, continued) == "[user]6?[assistant]note: <reasoning>"


def test_quoted_control_tokens_encode_as_text() -> None:
    encoder = make_encoder()
    end = encoder.end_of_turn_id
    assert end not in encoder.encode_beginning("it says <end_of_turn> here")
    assert (
        decode(encoder, encoder.encode_beginning("it says <end_of_turn> here"))
        == "it says <end_of_turn> here"
    )


def test_content_changing_template_is_rejected() -> None:
    shouting = "{% for m in messages %}{{ m.content | upper }}{% endfor %}"
    with pytest.raises(DataError, match="changes the content of a completion"):
        encode_continuation(make_encoder(shouting), "6?", "<reasoning>\nsix")


def test_decode_skips_control_tokens() -> None:
    encoder = make_encoder()
    control = [encoder.tokenizer.token_id(text) for text in CONTROL_TOKENS]
    [text] = encoder.tokenizer.encode_batch(["six"])
    assert decode(encoder, [*control, *text.ids, *control]) == "six"


def test_markup_tokens_decode_as_text() -> None:
    fast = FastTokenizer.from_str(trained_fast_tokenizer().to_str())
    fast.add_special_tokens([AddedToken(text, special=True) for text in ("<answer>", "</answer>")])
    tokenizer = Tokenizer("test", fast, make_tokenizer().named_tokens, None)
    encoder = TraceEncoder(tokenizer, choose_template(tokenizer))
    [encoding] = tokenizer.encode_batch(["<answer>42</answer>"])
    assert tokenizer.token_id("<answer>") in encoding.ids
    assert decode(encoder, encoding.ids) == "<answer>42</answer>"


def test_decode_handles_partial_and_unknown_ids() -> None:
    encoder = make_encoder()
    [dice] = encoder.tokenizer.encode_batch(["\N{GAME DIE}"])
    assert len(dice.ids) > 1
    assert decode(encoder, dice.ids) == "\N{GAME DIE}"
    assert decode(encoder, dice.ids[:1]) == "\N{REPLACEMENT CHARACTER}"
    assert decode(encoder, [encoder.tokenizer.vocab_size]) is None
    assert decode(encoder, []) == ""
