"""Eval sets are opened by name or from a file. `named_evalset`, which HTTP uses, accepts names only."""

from pathlib import Path

import pytest
from support.evaluation_starts import sum_items

from tunix_rt.base.errors import DataError, NotFoundError
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.evalsets import evalset_paths, named_evalset, open_evalset
from tunix_rt.datasets.types import item_json


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(home=tmp_path / "home")
    settings.evalsets_dir.mkdir(parents=True)
    lines = "".join(f"{item_json(item)}\n" for item in sum_items(3))
    (settings.evalsets_dir / "mine.jsonl").write_text(lines, encoding="utf-8")
    return settings


def test_shipped_and_own_names_resolve(settings: Settings) -> None:
    assert {"eval_v2", "mine"} <= set(evalset_paths(settings))
    assert open_evalset(settings, "mine").items == sum_items(3)
    assert len(open_evalset(settings, "eval_v2").items) == 100


def test_file_equals_named_eval_set(settings: Settings) -> None:
    opened = open_evalset(settings, str(settings.evalsets_dir / "mine.jsonl"))
    assert opened == named_evalset(settings, "mine")
    assert opened.content_hash == named_evalset(settings, "mine").content_hash


def test_first_items_change_hash(settings: Settings) -> None:
    opened = open_evalset(settings, "mine")
    assert opened.first(None) == opened
    assert len(opened.first(2).items) == 2
    assert opened.first(2).content_hash != opened.content_hash


def test_unknown_name_suggests_nearest(settings: Settings) -> None:
    with pytest.raises(NotFoundError, match="Did you mean 'eval_v2'"):
        open_evalset(settings, "eval_v1")


def test_path_is_not_a_name(settings: Settings) -> None:
    with pytest.raises(NotFoundError):
        named_evalset(settings, str(settings.evalsets_dir / "mine.jsonl"))


def test_bad_items_name_their_lines(settings: Settings) -> None:
    [item] = sum_items(1)
    lines = [item_json(item), item_json(item), '{"id": "x", "prompt": "?"}']
    (settings.evalsets_dir / "bad.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(DataError, match=r"line 3: .*expected_answer.*line 2: id 'sum-0' is also on line 1"):
        open_evalset(settings, "bad")
