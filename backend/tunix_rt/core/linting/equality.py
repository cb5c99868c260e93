"""Decides whether a stated result agrees with the exact one: rounding, percentages, cents, units."""

from tunix_rt.core.linting.ratios import Ratio

_SCALES: dict[str, dict[str, int]] = {
    "time": {"second": 1, "sec": 1, "minute": 60, "min": 60, "hour": 3600, "hr": 3600, "day": 86400, "week": 604800},
    "calendar": {"month": 1, "year": 12},
    "length": {"inch": 1, "inche": 1, "foot": 12, "feet": 12, "yard": 36, "mile": 63360},
    "metric": {"mm": 1, "millimeter": 1, "cm": 10, "centimeter": 10, "meter": 1000, "m": 1000, "km": 10**6,
               "kilometer": 10**6},
    "mass": {"g": 1, "gram": 1, "kg": 1000, "kilogram": 1000},
    "weight": {"oz": 1, "ounce": 1, "lb": 16, "pound": 16, "ton": 32000},
    "volume": {"ml": 1, "milliliter": 1, "l": 1000, "liter": 1000},
    "kitchen": {"cup": 1, "pint": 2, "quart": 4, "gallon": 16},
    "money": {"cent": 1, "¢": 1, "dollar": 100, "$": 100},
}  # fmt: skip
_UNITS = {unit: (scale, size) for scale, units in _SCALES.items() for unit, size in units.items()}


def agrees(exact: Ratio, stated: Ratio, decimals: int, *, is_rough: bool) -> bool:
    """Whether `stated`, written with that many decimals, is `exact` or an acceptable rounding of it.

    A result with decimals may be rounded or cut at its last digit. A whole number may be rounded only when
    the exact result has no short decimal form, or when the text says that it is approximate.

    Example:
        10/3 as 3.33 -> True; 2.5 as 3 -> False, and True where the text says "about"
    """
    (a, b), (c, d) = exact, stated
    difference = abs(a * d - c * b)
    if difference == 0:
        return True
    scale = b * d
    if decimals:
        return difference * int(10**decimals) < scale
    if is_rough:
        return difference < scale
    return 2 * difference <= scale and (a * 100) % b != 0


def unit_factor(unit: str, other: str) -> Ratio | None:
    """How many of `other` one `unit` is, when both measure the same thing.

    Example:
        unit_factor("hours", "minutes") -> (60, 1)
    """
    known, wanted = _unit(unit), _unit(other)
    if known is None or wanted is None or known[0] != wanted[0] or known == wanted:
        return None
    return known[1], wanted[1]


def _unit(name: str) -> tuple[str, int] | None:
    return _UNITS.get(name) or _UNITS.get(name.removesuffix("s"))
