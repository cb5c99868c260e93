"""The stop tokens of generation."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.encoders import make_encoder
from support.programs import TINY_GEMMA2

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.weights.architecture import architecture_from_config
from tunix_rt.engines.weights.sources import ModelSource, stop_token_ids


def make_source(directory: Path | None, **config: Any) -> ModelSource:
    full_config = TINY_GEMMA2 | config
    return ModelSource("tiny", architecture_from_config(full_config), full_config, directory, revision=None)


def test_turn_end_and_eos_stop() -> None:
    encoder = make_encoder("gemma")
    ends = {encoder.tokenizer.token_id("<end_of_turn>"), encoder.tokenizer.token_id("<eos>")}
    assert stop_token_ids(make_source(None), encoder) == ends


def test_template_without_turn_end_uses_eos() -> None:
    encoder = make_encoder("{% for m in messages %}{{ m.content }}\n{% endfor %}")
    assert encoder.end_of_turn_id is None
    assert stop_token_ids(make_source(None), encoder) == {encoder.tokenizer.token_id("<eos>")}


@pytest.mark.parametrize("ends", [90, [90, 91]])
def test_model_configs_add_stop_tokens(ends: int | list[int], tmp_path: Path) -> None:
    encoder = make_encoder("gemma")
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": ends}), encoding="utf-8")
    added = stop_token_ids(make_source(tmp_path, eos_token_id=92), encoder) - stop_token_ids(
        make_source(None), encoder
    )
    assert added == {92, *(ends if isinstance(ends, list) else [ends])}


def test_damaged_generation_config_is_named(tmp_path: Path) -> None:
    (tmp_path / "generation_config.json").write_text("{", encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"generation_config\.json cannot be read"):
        stop_token_ids(make_source(tmp_path), make_encoder())
