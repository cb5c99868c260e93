"""A tokenizer that does not belong to the model is refused before it trains nonsense."""

from dataclasses import replace

import pytest
from support.encoders import a_tokenizer
from tokenizers import AddedToken
from tokenizers import Tokenizer as FastTokenizer

from tunix_rt.config.recipe import ModelSection
from tunix_rt.core.errors import DataError
from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.models import resolve_model
from tunix_rt.engines.tokenizer import Tokenizer, load_tokenizer
from tunix_rt.engines.vocabulary import check_same_tokens, check_token_ids, check_vocabulary


def architecture(vocab_size: int = 1024) -> Architecture:
    source = resolve_model(ModelSection(name="tiny-gemma", weights="random"))
    return replace(source.architecture, vocab_size=vocab_size)


def tiny_with(token: AddedToken) -> Tokenizer:
    tiny = load_tokenizer("tiny")
    fast = FastTokenizer.from_str(tiny.fast.to_str())
    fast.add_tokens([token])
    return Tokenizer("tiny-and-more", fast, tiny.named_tokens, tiny.chat_template)


def test_the_models_own_tokenizer_is_accepted() -> None:
    check_vocabulary(load_tokenizer("tiny"), architecture())


def test_a_model_may_have_more_rows_than_the_tokenizer_has_tokens() -> None:
    check_vocabulary(load_tokenizer("tiny"), architecture(1088))


def test_a_tokenizer_with_more_text_tokens_than_the_model_is_refused() -> None:
    with pytest.raises(DataError, match=r"tiny is not .* it has 24 tokens beyond the 1000 .* \(1000\)"):
        check_vocabulary(load_tokenizer("tiny"), architecture(1000))
    with pytest.raises(DataError, match=r"'<word>' \(1024\)"):
        check_vocabulary(tiny_with(AddedToken("<word>", special=False)), architecture())


def test_a_control_token_beyond_the_model_is_refused_only_where_it_is_used() -> None:
    tokenizer = tiny_with(AddedToken("<image_soft_token>", special=True))
    check_vocabulary(tokenizer, architecture())
    check_token_ids(1023, tokenizer, architecture())
    with pytest.raises(DataError, match=r"'<image_soft_token>' \(1024\).* up to 1023"):
        check_token_ids(1024, tokenizer, architecture())


def test_another_tokenizer_than_the_weights_were_trained_with_is_refused() -> None:
    tiny = load_tokenizer("tiny")
    check_same_tokens(tiny_with(AddedToken("<new>", special=True)), tiny)
    with pytest.raises(DataError, match=r"test is not the model's: \d+ ids stand for other texts"):
        check_same_tokens(a_tokenizer(), tiny)
