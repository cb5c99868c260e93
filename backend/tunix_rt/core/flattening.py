"""Nested values as one level of dotted keys."""


def flat(value: object, prefix: str = "") -> dict[str, object]:
    """Every value that is no mapping, by its dotted key.

    Example:
        {"a": {"b": 1}, "c": [2]} -> {"a.b": 1, "c": [2]}
    """
    if not isinstance(value, dict):
        return {prefix.rstrip("."): value}
    pairs = [flat(inner, f"{prefix}{key}.") for key, inner in value.items()]
    return {key: inner for pair in pairs for key, inner in pair.items()}
