"""The accepted subset of YAML: typed scalars and lists, plain text, and errors with line numbers."""

from typing import Any

import pytest

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.files.yaml_text import parse_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-5", 1e-5),
        ("2E+3", 2000.0),
        ("-.5", -0.5),
        ("1_000", 1000),
        ("0", 0),
        ("true", True),
        ("null", None),
        ("", None),
        ("a:", {"a": None}),
        ("[q, v]", ["q", "v"]),
        ("é", "é"),
    ],
)
def test_scalars_and_lists_are_typed(text: str, value: Any) -> None:
    read = parse_yaml(text, what="text")
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    "text", ["no", "off", "010", "0x10", "1:30", "2025-01-01", ".inf", "'1'", "<<", "1e"]
)
def test_yaml_1_1_literals_stay_text(text: str) -> None:
    assert parse_yaml(text, what="text") == text.strip("'")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\nb: 2\na: 3", "line 3: the key 'a' is given twice"),
        ("a:\n  1: x", "line 2: 1 is not a key"),
        ("a: &x 1\nb: *x", "line 2: write the value instead of an alias"),
        ("a: !!python/name:os.system x", "could not determine a constructor"),
        ("a: !!set {b}", "could not determine a constructor"),
        ("a: [1,", "line 1: "),
        ("\ta: 1", "line 1: found character"),
        ("a: 1\n---\nb: 2", "line 2: "),
        ("a: \x00", "not readable YAML"),
        ("[" * 20_000, "not readable YAML: nested too deeply"),
    ],
)
def test_ambiguous_yaml_names_line(text: str, problem: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_yaml(text, what="my.yaml")
    assert caught.value.detail.startswith("my.yaml")
    assert problem in caught.value.detail
