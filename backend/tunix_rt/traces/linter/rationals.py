"""Exact, size-bounded rational arithmetic, and equality up to acceptable rounding.

`fractions.Fraction` reduces after every operation, which costs more than the rest of the linter; claims are
short, so reducing once at the end is enough.
"""

from math import gcd, isqrt

Ratio = tuple[int, int]
"""A numerator and a positive denominator."""

MAX_BITS = 1024
MAX_EXPONENT = 256


def reduced(value: Ratio) -> Ratio:
    """The same number in lowest terms, so that equal numbers are equal tuples."""
    numerator, denominator = value
    if denominator == 1:
        return value
    divisor = gcd(numerator, denominator)
    return numerator // divisor, denominator // divisor


def apply(operator: str, left: Ratio, right: Ratio) -> Ratio | None:
    """`left operator right`, or None when it is undefined or too large for a real claim.

    Example:
        apply("/", (1, 1), (4, 1)) -> (1, 4)
    """
    a, b = left
    c, d = right
    if operator == "+":
        result = (a + c, b) if b == d else (a * d + c * b, b * d)
    elif operator == "-":
        result = (a - c, b) if b == d else (a * d - c * b, b * d)
    elif operator == "*":
        result = (a * c, b * d)
    elif operator == "/":
        if c == 0:
            return None
        result = (a * d, b * c) if c > 0 else (-a * d, -b * c)
    else:
        return _power(left, right)
    is_small = result[0].bit_length() <= MAX_BITS and result[1].bit_length() <= MAX_BITS
    return result if is_small else None


def _power(base: Ratio, exponent: Ratio) -> Ratio | None:
    numerator, denominator = reduced(exponent)
    if denominator != 1 or abs(numerator) > MAX_EXPONENT:
        return None
    bits = max(base[0].bit_length(), base[1].bit_length())
    if bits * abs(numerator) > MAX_BITS or (numerator < 0 and base[0] == 0):
        return None
    if numerator >= 0:
        return base[0] ** numerator, base[1] ** numerator
    inverse = apply("/", (1, 1), base)
    return None if inverse is None else (inverse[0] ** -numerator, inverse[1] ** -numerator)


def as_text(value: Ratio) -> str:
    """The usual notation of the number: `24`, `7.5`, `10/3`.

    Example:
        as_text((15, 2)) -> "7.5"
    """
    numerator, denominator = reduced(value)
    if denominator == 1:
        return str(numerator)
    decimals = next((count for count in range(1, 7) if 10**count % denominator == 0), None)
    if decimals is None:
        return f"{numerator}/{denominator}"
    digits = str(abs(numerator) * 10**decimals // denominator).rjust(decimals + 1, "0")
    sign = "-" if numerator < 0 else ""
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}"


def agrees(exact: Ratio, stated: Ratio, decimals: int | None, *, is_rough: bool) -> bool:
    """Whether `stated`, written with that many decimals, is `exact` or an acceptable rounding of it.

    A result with decimals may be rounded or cut after its last digit. A whole number may be rounded only when
    the exact result has no short decimal form. Where the text marks it as approximate, either may be off
    by less than one unit of the last digit. Without a last digit (`decimals` None, as for fractions and
    roots) it must be exact, or within 5 % where the text marks it as approximate.

    Example:
        10/3 as 3.33 -> True; 2.5 as 3 -> False, and True where the text says "about"; 7/12 as 8/12 -> False
    """
    (a, b), (c, d) = exact, stated
    difference = a * d - c * b
    if difference == 0:
        return True
    if decimals is None:
        return is_rough and 20 * abs(difference) <= abs(a * d)
    scale = b * d
    # Negative decimals count zeros before the decimal point: 3.3e4 is written to the thousands.
    if decimals >= 0:
        difference *= int(10**decimals)
    else:
        scale *= int(10**-decimals)
    if is_rough:
        return abs(difference) < scale
    if 2 * abs(difference) <= scale:
        return decimals != 0 or (a * 100) % b != 0
    return decimals != 0 and abs(difference) < scale and (difference > 0) == (a > 0)


def square_root(value: Ratio) -> Ratio | None:
    """The square root of a number that has a rational one.

    Example:
        9/4 -> 3/2; 2 -> None
    """
    numerator, denominator = reduced(value)
    if numerator < 0:
        return None
    roots = isqrt(numerator), isqrt(denominator)
    return roots if (roots[0] ** 2, roots[1] ** 2) == (numerator, denominator) else None
