"""References to registered models."""

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
    ("text", "meant"),
    [
        ("demo", ModelReference("demo")),
        ("demo@champion", ModelReference("demo", alias="champion")),
        ("demo:3", ModelReference("demo", version=3)),
        ("demo:spring", ModelReference("demo", label="spring")),
    ],
)
def test_a_reference_says_model_and_version(text: str, meant: ModelReference) -> None:
    assert parse_reference(text) == meant
    assert str(meant) == text


@pytest.mark.parametrize(
    "text",
    ["", "@a", "demo@", "demo:", "de mo", "../demo", "demo@a@b", "demo:1@a", "a/b:1", "demo:9999999999"],
)
def test_invalid_references_are_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="NAME@ALIAS"):
        parse_reference(text)


def test_a_bare_name_may_mean_something_else() -> None:
    assert [is_reference(text) for text in ("demo", "demo@a", "demo:1", "owner/name:1")] == [
        False,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("name", ["versions", "1b4e28ba-2fa1-11d2-883f-0016d3cca427", ".hidden", "a" * 129])
def test_names_of_api_paths_are_reserved(name: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(ModelName).validate_python(name)


def test_a_label_cannot_look_like_a_number() -> None:
    with pytest.raises(ValidationError, match="add a letter"):
        TypeAdapter(Label).validate_python("7")


def test_the_hash_of_a_tree_covers_paths_sizes_and_bytes() -> None:
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
def test_paths_outside_the_directory_are_refused(path: str) -> None:
    with pytest.raises(ValidationError):
        ModelFile(path=path, size_bytes=1, sha256="0" * 64)
