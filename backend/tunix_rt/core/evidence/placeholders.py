"""Values that stand where a fact should be: null, NaN, `TODO`."""

import re
from collections.abc import Iterator
from typing import Any

_PLACEHOLDER = re.compile(
    r"(?:null|none|nan|-?inf(?:inity)?|n/?a|tbd|todo|fixme|xxx+|\?+|\.\.\.|…|placeholder|changeme|"
    r"(?:to be )?(?:filled|determined|populated)(?: in| later)?|"
    r"(?:<|\[|\{\{?)[^<>\[\]{}]*(?:>|\]|\}\}?)|your[ _-].*)",
    re.I,
)


def placeholders(value: Any, path: str = "") -> Iterator[str]:
    """Where nothing is said, one line each.

    Example:
        {"metrics": {"final_loss": None}, "model": "TODO"} -> "metrics.final_loss is null", 'model is "TODO"'
    """
    if value is None:
        yield f"{path or 'the value'} is null"
    elif isinstance(value, str) and _PLACEHOLDER.fullmatch(value.strip()):
        yield f'{path or "the value"} is "{value}"'
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from placeholders(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from placeholders(inner, f"{path}[{place}]")
