"""Numbers, money and nouns written the way a careful person writes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

NAMES = (
    "Ada", "Ben", "Carla", "Dev", "Elena", "Farid", "Grace", "Hugo", "Ines", "Jonas", "Keiko", "Liam",
    "Mona", "Nils", "Olga", "Priya", "Quentin", "Rosa", "Samir", "Tara", "Umar", "Vera", "Wanda", "Yusuf",
)  # fmt: skip


@dataclass(frozen=True)
class Noun:
    """A countable noun with both its forms."""

    one: str
    many: str


def noun(one: str, many: str = "") -> Noun:
    """A noun; the plural is made with -s unless given."""
    return Noun(one, many or f"{one}s")


THINGS = tuple(
    map(
        noun,
        ("marble", "sticker", "stamp", "shell", "postcard", "bead", "coin", "badge", "button", "model car"),
    )
)
BAKED = tuple(map(noun, ("muffin", "bagel", "pancake", "waffle", "cookie", "pretzel")))
FOODS = (
    *BAKED,
    noun("peach", "peaches"),
    noun("tomato", "tomatoes"),
    noun("cherry", "cherries"),
    noun("egg"),
)
GOODS = tuple(
    map(noun, ("backpack", "lamp", "jacket", "kettle", "tent", "radio", "helmet", "keyboard", "umbrella"))
)


def counted(number: int, thing: Noun) -> str:
    """The number with the right form of the noun: `1 peach`, `3 peaches`."""
    return f"{number} {thing.one if number == 1 else thing.many}"


def money(cents: int) -> str:
    """An amount in dollars with both decimals: 1500 -> `$15.00`."""
    return f"${cents // 100}.{cents % 100:02d}"


def decimal(value: Fraction | int) -> str:
    """The exact decimal of a fraction that has one: 5/4 -> `1.25`, 3 -> `3`."""
    value = Fraction(value)
    for places in range(12):
        scaled = abs(value) * 10**places
        if scaled.denominator == 1:
            digits = str(scaled.numerator).rjust(places + 1, "0")
            text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
            return f"-{text}" if value < 0 else text
    raise ValueError(f"{value} has no short exact decimal")


def fraction(value: Fraction) -> str:
    """A fraction in lowest terms: `3/4`, or `2` for a whole number."""
    return str(value)


def listed(items: Sequence[str], joiner: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(items) == 1:
        return items[0]
    return f"{', '.join(items[:-1])} {joiner} {items[-1]}"


def with_article(word: str) -> str:
    """`an umbrella`, `a tent`: enough for the nouns used here."""
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `3rd`, `11th`."""
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"
