"""Worked steps for the reasoning-gym tasks whose metadata says enough to derive them.

Each function takes the metadata of one entry and returns the steps. The adapter keeps an entry only when
the task's own answer stands in the last step and the linter finds no error in the trace.
"""

from collections.abc import Callable, Mapping
from math import gcd
from typing import Any

Metadata = Mapping[str, Any]


def gsm_symbolic(metadata: Metadata) -> list[str]:
    """The solution that the task ships, without its `####` line."""
    worked, _, _ = str(metadata["answer_cot"]).rpartition("####")
    return [line.strip() for line in worked.splitlines() if line.strip()]


def chain_sum(metadata: Metadata) -> list[str]:
    """Add and subtract from left to right, one step an operator."""
    first, *rest = str(metadata["expression"]).split()
    total, steps = int(first), []
    for sign, term in zip(rest[::2], rest[1::2], strict=True):
        result = total + int(term) if sign == "+" else total - int(term)
        steps.append(f"{total} {sign} {term} = {result}.")
        total = result
    return steps


def products(metadata: Metadata) -> list[str]:
    """Multiply by each digit of the second factor, then add."""
    factors = [int(text) for text in str(metadata["expression"]).split(" * ")]
    total, steps = factors[0], []
    for factor in factors[1:]:
        parts = [
            int(digit) * 10**place for place, digit in enumerate(reversed(str(factor))) if digit != "0"
        ] or [0]
        steps += [f"{total} × {part} = {total * part}." for part in parts]
        if len(parts) > 1:
            steps.append(f"{' + '.join(str(total * part) for part in parts)} = {total * factor}.")
        total *= factor
    return steps


def greatest_common_divisor(metadata: Metadata) -> list[str]:
    """Euclid's algorithm, number after number."""
    divisor, *others = metadata["numbers"]
    steps = []
    for other in others:
        a, b = max(divisor, other), min(divisor, other)
        while b:
            steps.append(f"{a} = {a // b} × {b} + {a % b}.")
            a, b = b, a % b
        divisor = a
    return [*steps, f"The last remainder that is not 0, or the divisor that leaves none, is {divisor}."]


def least_common_multiple(metadata: Metadata) -> list[str]:
    """The product divided by the greatest common divisor, number after number."""
    multiple, *others = metadata["numbers"]
    steps = []
    for other in others:
        common = gcd(multiple, other)
        steps.append(f"The greatest common divisor of {multiple} and {other} is {common}.")
        steps.append(f"{multiple} × {other} ÷ {common} = {multiple * other // common}.")
        multiple = multiple * other // common
    return steps


def prime_factorization(metadata: Metadata) -> list[str]:
    """Divide by the smallest prime until 1 is left."""
    rest, steps = int(metadata["number"]), []
    for factor in metadata["factors"]:
        steps.append(f"{rest} ÷ {factor} = {rest // factor}.")
        rest //= factor
    product = " × ".join(str(factor) for factor in metadata["factors"])
    return [*steps, f"So {metadata['number']} = {product}."]


def spell_backward(metadata: Metadata) -> list[str]:
    """Spell the word, then read it from the end."""
    word = str(metadata["word"])
    return [
        f"The letters are {'-'.join(word)}.",
        f"From last to first: {'-'.join(reversed(word))}.",
        f"Joined: {word[::-1]}.",
    ]


def letter_counting(metadata: Metadata) -> list[str]:
    """Count word by word, then add."""
    letter = str(metadata["target_letter"])
    words = [str(word) for word in metadata["span"]]
    counts = [word.lower().count(letter) for word in words]
    found = [f"{word}: {count}" for word, count in zip(words, counts, strict=True) if count]
    if not found:
        return [f"None of the words {', '.join(words)} has the letter {letter}, so the count is 0."]
    listing = f"The words with the letter {letter}: {', '.join(found)}."
    if len(found) == 1:
        return [listing, f"So the count is {sum(counts)}."]
    total = " + ".join(str(count) for count in counts if count)
    return [listing, f"{total} = {sum(counts)}."]


GYM_STEPS: dict[str, Callable[[Metadata], list[str]]] = {
    "gsm_symbolic": gsm_symbolic,
    "chain_sum": chain_sum,
    "products": products,
    "gcd": greatest_common_divisor,
    "lcm": least_common_multiple,
    "prime_factorization": prime_factorization,
    "spell_backward": spell_backward,
    "letter_counting": letter_counting,
}
"""The reasoning-gym tasks that can become traces, by their registered name."""
