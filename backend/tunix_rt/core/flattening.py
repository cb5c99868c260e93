"""Nested values as one level of dotted keys, and how two of them differ."""

import math
from collections.abc import Iterator


def flat(value: object, prefix: str = "") -> dict[str, object]:
    """Every value that is no mapping, by its dotted key.

    Example:
        {"a": {"b": 1}, "c": [2]} -> {"a.b": 1, "c": [2]}
    """
    if not isinstance(value, dict):
        return {prefix.rstrip("."): value}
    pairs = [flat(inner, f"{prefix}{key}.") for key, inner in value.items()]
    return {key: inner for pair in pairs for key, inner in pair.items()}


def differences(stated: object, again: object) -> Iterator[tuple[str, object, object]]:
    """Key, first and second value wherever two nested values differ; None where one of them has no such key.

    Numbers that were computed twice may differ in the last digits: processors add in different orders.
    """
    mine, theirs = flat(stated), flat(again)
    for key in sorted(mine.keys() | theirs.keys()):
        if not _is_same(mine.get(key), theirs.get(key)):
            yield key, mine.get(key), theirs.get(key)


def _is_same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return one == other
