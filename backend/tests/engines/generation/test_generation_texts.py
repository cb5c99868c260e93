"""Encoding conversations, and decoding streamed tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.encoders import make_encoder

from tunix_rt.base.errors import DataError
from tunix_rt.engines.generation.text import TextStream, decode
from tunix_rt.tokenization.chat_template import builtin_template_names

USER = {"role": "user", "content": "What is 6 * 7?"}
SYSTEM = {"role": "system", "content": "Think first."}
MODEL = {"role": "assistant", "content": "<reasoning>\n42\n</reasoning>\n<answer>42</answer>"}


def streamed_text(token_ids: list[int]) -> str:
    stream = TextStream(make_encoder())
    deltas = [stream.add([token_id]) for token_id in token_ids] + [stream.finish()]
    assert None not in deltas
    return "".join(filter(None, deltas))


@given(st.text(max_size=30))
def test_text_deltas_concatenate_to_text(text: str) -> None:
    encoder = make_encoder()
    token_ids = list(encoder.tokenizer.encode_as_content(text).ids)
    assert streamed_text(token_ids) == decode(encoder, token_ids)


@given(st.lists(st.integers(0, 319), max_size=30))
def test_arbitrary_tokens_stream_exactly(token_ids: list[int]) -> None:
    encoder = make_encoder()
    known = [token_id for token_id in token_ids if encoder.tokenizer.fast.id_to_token(token_id) is not None]
    assert streamed_text(known) == decode(encoder, known)


def test_partial_character_is_buffered() -> None:
    encoder = make_encoder()
    first, *rest = encoder.tokenizer.encode_as_content("é").ids
    stream = TextStream(encoder)
    assert stream.add([first]) == ""
    assert stream.add(rest) == "é"


def test_unknown_token_has_no_text() -> None:
    assert TextStream(make_encoder()).add([10**6]) is None


@pytest.mark.parametrize("template", builtin_template_names())
def test_single_question_matches_training_prompt(template: str) -> None:
    encoder = make_encoder(template)
    assert encoder.encode_messages([USER]) == encoder.encode_prompt(USER["content"])


@pytest.mark.parametrize("template", ["chatml", "tunix-rt"])
def test_conversation_includes_every_turn(template: str) -> None:
    encoder = make_encoder(template)
    token_ids = encoder.encode_messages([SYSTEM, USER, MODEL, USER])
    text = encoder.tokenizer.fast.decode(token_ids, skip_special_tokens=False)
    assert text.count(USER["content"]) == 2
    assert text.index(SYSTEM["content"]) < text.index(MODEL["content"])


def test_unsupported_system_message_is_rejected() -> None:
    with pytest.raises(DataError, match="no system role"):
        make_encoder("gemma").encode_messages([SYSTEM, USER])
    dropping = "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}"
    with pytest.raises(DataError, match="leaves out or changes message 0"):
        make_encoder(dropping).encode_messages([SYSTEM, USER])


def test_quoted_control_token_stays_text() -> None:
    encoder = make_encoder("gemma")
    quoted = {"role": "user", "content": "What does <end_of_turn> mean?"}
    end_id = encoder.tokenizer.token_id("<end_of_turn>")
    assert encoder.encode_messages([quoted]).count(end_id or -1) == 1
