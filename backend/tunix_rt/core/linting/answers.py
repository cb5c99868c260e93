"""How the final answer relates to the steps."""

import re
from collections.abc import Sequence
from typing import Literal

from tunix_rt.core.linting.claims import StepReading
from tunix_rt.core.linting.equality import agrees
from tunix_rt.core.linting.grounding import written_numbers
from tunix_rt.core.linting.ratios import Ratio, reduced
from tunix_rt.core.linting.scanning import tokenise
from tunix_rt.core.linting.tokens import Token
from tunix_rt.core.linting.words import content_words, words_of

Support = Literal["follows", "stated", "undecidable", "mismatch", "unsupported"]
"""`follows` from the last claims; is `stated` in the steps; `undecidable` (yes, B); `mismatch` with the last
claims; `unsupported`: nowhere in the steps."""

_VERDICTS = frozenset({"yes", "no", "true", "false", "none", "both", "neither", "possible", "impossible"})
_NOT_ALPHANUMERIC = re.compile(r"[\W_]+")
_MAX_CHARS = 2_000
_MAX_NUMBERS = 20
NUM_LAST_STEPS = 2


def answer_support(final_answer: str, contents: Sequence[str], readings: Sequence[StepReading]) -> Support:
    """Whether the answer follows from what the steps say.

    Example:
        answer "24", last step "48 / 2 = 24" -> "follows"; last step "48 / 2 = 25" -> "unsupported"
    """
    numbers = [token for token in tokenise(final_answer[:_MAX_CHARS]) if token.kind == "n"][:_MAX_NUMBERS]
    words = content_words(words_of(final_answer))
    if not numbers or (words and words - _content(*contents[-NUM_LAST_STEPS:])):
        return _text_support(final_answer, contents)
    support = _number_support(numbers, readings)
    if support == "unsupported" and _are_written(numbers, contents):
        return "stated"
    return support


def last_result(readings: Sequence[StepReading]) -> Ratio | None:
    """The result of the last claim that could be read."""
    for reading in reversed(readings):
        for claim in reversed(reading.claims):
            if claim.result is not None and claim.verdict != "unreadable":
                return claim.result
    return None


def _are_written(numbers: Sequence[Token], contents: Sequence[str]) -> bool:
    """Whether the digits stand in the last steps in a form that is not arithmetic: `15:25`, `[1, 2]`."""
    written = {value for content in contents[-NUM_LAST_STEPS:] for value in written_numbers(content)}
    return all(token.value in written for token in numbers)


def _content(*texts: str) -> set[str]:
    return set().union(*(content_words(words_of(text)) for text in texts))


def _number_support(numbers: Sequence[Token], readings: Sequence[StepReading]) -> Support:
    last = readings[-NUM_LAST_STEPS:]
    results = [claim.result for reading in last for claim in reading.claims if claim.result]
    if all([token.value in results or _is_among(token, results) for token in numbers]):
        return "follows"
    in_last = [token.value for reading in last for token in reading.numbers]
    if all(_is_among(token, in_last) for token in numbers):
        return "mismatch" if results and _is_only_operand(numbers, last) else "stated"
    if all(any(_same(token, n.value) for reading in readings for n in reading.numbers) for token in numbers):
        return "mismatch" if last_result(readings) is not None else "stated"
    return "unsupported"


def _is_only_operand(numbers: Sequence[Token], readings: Sequence[StepReading]) -> bool:
    """Whether the last steps calculate with the answer instead of arriving at it."""
    for reading in readings:
        operands = {token.start for claim in reading.claims for token in claim.operands}
        free = [token.value for token in reading.numbers if token.start not in operands]
        if any(_same(number, value) for number in numbers for value in free):
            return False
    return True


def _is_among(token: Token, values: Sequence[Ratio]) -> bool:
    return any(_same(token, value) for value in values)


def _same(token: Token, value: Ratio) -> bool:
    if agrees(value, token.value, token.decimals, is_rough=True):
        return True
    percent = (value[0] * 100, value[1])
    return agrees(percent, token.value, token.decimals, is_rough=False) or reduced(
        (token.value[0] * 100, token.value[1])
    ) == reduced(value)


def _text_support(final_answer: str, contents: Sequence[str]) -> Support:
    answer = _squeezed(final_answer)
    if answer in _VERDICTS or len(answer) <= 1:
        return "undecidable"
    texts = [_squeezed(content) for content in contents]
    if any(answer in text for text in texts[-NUM_LAST_STEPS:]):
        return "follows"
    if any(answer in text for text in texts):
        return "stated"
    wanted = _content(final_answer)
    shared = wanted & _content(*contents)
    return "stated" if wanted and 2 * len(shared) >= len(wanted) else "unsupported"


def _squeezed(text: str) -> str:
    """Letters and digits only, so that `c, b, a` and `cba` are the same."""
    return _NOT_ALPHANUMERIC.sub("", text.casefold())
