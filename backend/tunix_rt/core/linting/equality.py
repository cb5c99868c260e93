"""Decides whether a stated result is the exact one or an honest rounding of it."""

from tunix_rt.core.linting.ratios import Ratio


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
