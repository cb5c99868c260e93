"""A tokenizer that does not match the model is rejected before training."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from support.builders import make_trace
from support.datasets import sums
from support.encoders import make_tokenizer, write_tokenizer
from tokenizers import AddedToken
from tokenizers import Tokenizer as FastTokenizer

from tunix_rt.base.assets import shipped_model_config, shipped_tokenizer_dir
from tunix_rt.base.errors import DataError
from tunix_rt.engines.training.job import Rows, TrainingData
from tunix_rt.engines.training.preparation import prepare
from tunix_rt.engines.weights.architecture import Architecture
from tunix_rt.engines.weights.sources import (
    check_same_tokens,
    check_vocabulary,
    require_known_ids,
    resolve_model,
)
from tunix_rt.recipes.types import ModelSection, Recipe
from tunix_rt.tokenization.chat_template import ChatTemplate
from tunix_rt.tokenization.encoding import TraceEncoder
from tunix_rt.tokenization.tokenizer import Tokenizer, load_tokenizer


def architecture(vocab_size: int = 1024) -> Architecture:
    source = resolve_model(ModelSection(name="tiny-gemma", weights="random"))
    return replace(source.architecture, vocab_size=vocab_size)


def tiny_tokenizer_with(token: AddedToken) -> Tokenizer:
    tiny = load_tokenizer("tiny")
    fast = FastTokenizer.from_str(tiny.fast.to_str())
    fast.add_tokens([token])
    return Tokenizer("tiny-and-more", fast, tiny.named_tokens, tiny.chat_template)


@pytest.mark.parametrize("vocab_size", [1024, 1088])
def test_fitting_tokenizer_is_accepted(vocab_size: int) -> None:
    """The embedding may have more rows than the tokenizer has tokens."""
    check_vocabulary(load_tokenizer("tiny"), architecture(vocab_size))


def test_excess_text_tokens_are_rejected() -> None:
    with pytest.raises(DataError, match=r"tiny is not .* it has 24 tokens beyond the 1000 .* \(1000\)"):
        check_vocabulary(load_tokenizer("tiny"), architecture(1000))
    with pytest.raises(DataError, match=r"'<word>' \(1024\)"):
        check_vocabulary(tiny_tokenizer_with(AddedToken("<word>", special=False)), architecture())


def test_used_excess_control_token_is_rejected() -> None:
    tokenizer = tiny_tokenizer_with(AddedToken("<image_soft_token>", special=True))
    check_vocabulary(tokenizer, architecture())
    plain, writes_token = (
        TraceEncoder(tokenizer, ChatTemplate("test", source, {}))
        for source in ("{{ messages[0].content }}", "<image_soft_token>{{ messages[0].content }}")
    )
    assert list(require_known_ids(plain.encode([make_trace()]), tokenizer, architecture()))
    with pytest.raises(DataError, match=r"'<image_soft_token>' \(1024\).* up to 1023"):
        list(require_known_ids(writes_token.encode([make_trace()]), tokenizer, architecture()))


def test_excess_padding_token_is_rejected() -> None:
    more = tiny_tokenizer_with(AddedToken("<padding>", special=True))
    tokenizer = Tokenizer("padded", more.fast, {"pad_token": "<padding>"}, None)
    with pytest.raises(DataError, match=r"'<padding>' \(1024\)"):
        check_vocabulary(tokenizer, architecture())


def test_mismatched_tokenizer_is_rejected() -> None:
    tiny = load_tokenizer("tiny")
    check_same_tokens(tiny_tokenizer_with(AddedToken("<new>", special=True)), tiny)
    with pytest.raises(DataError, match=r"test is not the model's: \d+ ids stand for other texts"):
        check_same_tokens(make_tokenizer(), tiny)


def test_prepare_rejects_mismatched_tokenizer(tmp_path: Path) -> None:
    model, other = tmp_path / "model", tmp_path / "other"
    shutil.copytree(shipped_tokenizer_dir("tiny"), model)
    (model / "config.json").write_text(json.dumps(shipped_model_config("tiny-llama")))
    write_tokenizer(other)
    rows = Rows("train", lambda: iter(sums(2)))
    data = TrainingData("sums", "0" * 64, rows, validation=None)

    def recipe(**section: str) -> Recipe:
        return Recipe.model_validate(
            {"model": {"name": str(model), **section}, "training": {"num_steps": 1, "batch_size": 1}}
        )

    assert prepare(recipe(), data).batches.num_examples == 2
    assert prepare(recipe(tokenizer=str(other), weights="random"), data).batches.num_examples == 2
    with pytest.raises(DataError, match="other is not the model's"):
        prepare(recipe(tokenizer=str(other)), data)
