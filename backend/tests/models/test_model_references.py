"""Model references, names, labels and file trees."""

import pytest
from pydantic import TypeAdapter, ValidationError

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.models.types import (
    Label,
    ModelFile,
    ModelName,
    ModelReference,
    build_tree,
    is_reference,
    parse_reference,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("demo", ModelReference("demo")),
        ("demo@champion", ModelReference("demo", alias="champion")),
        ("demo:3", ModelReference("demo", version=3)),
        ("demo:spring", ModelReference("demo", label="spring")),
    ],
)
def test_reference_round_trips(text: str, expected: ModelReference) -> None:
    assert parse_reference(text) == expected
    assert str(expected) == text


@pytest.mark.parametrize(
    "text",
    ["", "@a", "demo@", "demo:", "de mo", "../demo", "demo@a@b", "demo:1@a", "a/b:1", "demo:9999999999"],
)
def test_invalid_references_are_rejected(text: str) -> None:
    with pytest.raises(InvalidInputError, match="NAME@ALIAS"):
        parse_reference(text)


def test_bare_name_is_not_a_reference() -> None:
    assert [is_reference(text) for text in ("demo", "demo@a", "demo:1", "owner/name:1")] == [
        False,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("name", ["versions", "1b4e28ba-2fa1-11d2-883f-0016d3cca427", ".hidden", "a" * 129])
def test_invalid_model_names_are_rejected(name: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(ModelName).validate_python(name)


def test_numeric_labels_are_rejected() -> None:
    with pytest.raises(ValidationError, match="add a letter"):
        TypeAdapter(Label).validate_python("7")


def test_tree_hash_covers_all_fields() -> None:
    """The order of the files does not matter."""
    first = ModelFile(path="a", size_bytes=1, sha256="0" * 64)
    variants = [
        [first],
        [first.model_copy(update={"path": "b"})],
        [first.model_copy(update={"size_bytes": 2})],
        [first.model_copy(update={"sha256": "1" * 64})],
        [first, first.model_copy(update={"path": "b"})],
    ]
    assert len({build_tree(files).content_hash for files in variants}) == len(variants)
    assert build_tree(variants[4]).content_hash == build_tree(variants[4][::-1]).content_hash


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "a/../../b", "", "a\\b"])
def test_paths_outside_directory_are_rejected(path: str) -> None:
    with pytest.raises(ValidationError):
        ModelFile(path=path, size_bytes=1, sha256="0" * 64)
