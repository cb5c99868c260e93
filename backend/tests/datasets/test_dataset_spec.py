import pytest
from pydantic import ValidationError

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.datasets.types import DatasetSpec, checked_key, checked_split, content_hash

PATH_TRICKS = [
    "",
    ".",
    "..",
    "../other",
    "a/../../b",
    "/etc",
    "a\\b",
    "a b",
    "A-v1",
    ".hidden",
    "a\x00b",
    "gsm8k-v1\n",
    "é",
    "a" * 162,
]


@pytest.mark.parametrize("key", PATH_TRICKS)
def test_path_like_key_is_refused(key: str) -> None:
    with pytest.raises(InvalidInputError):
        checked_key(key)


@pytest.mark.parametrize("name", ["../train", "train.jsonl", "", "Train", "train\n"])
def test_path_like_split_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError):
        checked_split(name)


@pytest.mark.parametrize("name", PATH_TRICKS)
def test_path_like_dataset_name_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        DatasetSpec(dataset_name=name)


def test_key_joins_name_and_version() -> None:
    assert DatasetSpec(dataset_name="dev-reasoning", dataset_version="v2").dataset_key == "dev-reasoning-v2"


def test_longest_key_is_valid() -> None:
    spec = DatasetSpec(dataset_name="a" * 128, dataset_version="v1" + "2" * 30)
    assert checked_key(spec.dataset_key) == spec.dataset_key


def test_unknown_field_is_refused() -> None:
    with pytest.raises(ValidationError, match="shuffle"):
        DatasetSpec.model_validate({"dataset_name": "a", "shuffle": True})


@pytest.mark.parametrize(
    ("splits", "reason"),
    [
        ({"train": 0.9, "validation": 0.2}, "sum to 1"),
        ({"train": 1.0, "validation": 0.0}, "above 0"),
        ({}, "1 to 8 splits"),
        ({"../x": 1.0}, "split name"),
    ],
)
def test_invalid_splits_are_refused(splits: dict[str, float], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        DatasetSpec(dataset_name="a", splits=splits)


def test_contamination_options_exclude_each_other() -> None:
    with pytest.raises(ValidationError, match="exclude each other"):
        DatasetSpec(dataset_name="a", allow_contamination=True, remove_contaminated=True)


def test_content_hash_ignores_order() -> None:
    pairs = [("train", "aa"), ("validation", "bb")]
    assert content_hash(pairs) == content_hash(reversed(pairs))
    assert content_hash(pairs) != content_hash([("train", "bb"), ("validation", "aa")])
