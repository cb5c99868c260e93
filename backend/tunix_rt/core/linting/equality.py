"""Decides whether a stated result is the exact one or an honest rounding of it."""

from tunix_rt.core.linting.ratios import Ratio


def agrees(exact: Ratio, stated: Ratio, decimals: int, *, is_rough: bool) -> bool:
    """Whether `stated`, written with that many decimals, is `exact` or an acceptable rounding of it.

    A result with decimals may be rounded or cut after its last digit. A whole number may be rounded only when
    the exact result has no short decimal form. Where the text says that it is approximate, either may be off
    by less than one unit of the last digit.

    Example:
        10/3 as 3.33 -> True; 2.5 as 3 -> False, and True where the text says "about"
    """
    (a, b), (c, d) = exact, stated
    difference = (a * d - c * b) * int(10**decimals)
    if difference == 0:
        return True
    scale = b * d
    if is_rough:
        return abs(difference) < scale
    if 2 * abs(difference) <= scale:
        return decimals > 0 or (a * 100) % b != 0
    return decimals > 0 and abs(difference) < scale and (difference > 0) == (a > 0)
