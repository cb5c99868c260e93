"""Durations as people type them."""

import re

from tunix_rt.core.errors import InvalidInputError

_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def parse_duration(text: str) -> float:
    """Seconds of a duration.

    Example:
        "9h" -> 32400.0, "1h30m" -> 5400.0
    """
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise InvalidInputError(f"{text!r} is not a duration.", next_step="Write it as 9h, 90m or 1h30m.")
    return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts)
