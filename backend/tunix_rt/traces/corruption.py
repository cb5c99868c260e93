"""Break one step of a correct trace on purpose, to measure whatever checks traces.

The step and the change are chosen without the linter: every step that states a computed result is equally
likely.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, get_args

from tunix_rt.traces.linter.expressions import OPERATORS, evaluate, find_expressions
from tunix_rt.traces.linter.rationals import Ratio, apply, reduced
from tunix_rt.traces.linter.scanner import tokenise
from tunix_rt.traces.linter.vocabulary import Token, TokenKind, read_number
from tunix_rt.traces.types import CorruptionKind, Trace

KINDS: tuple[CorruptionKind, ...] = get_args(CorruptionKind)

_ANNOTATION = re.compile(r"<<([^<>=]+)=([^<>=]+)>>")
_NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+"
_NUMBER_ONLY = re.compile(_NUMBER)
_NUMBER_AFTER = re.compile(rf"\s*[$€£¢%]?\s*({_NUMBER})")
_REPLACEMENT_OPERATORS: tuple[TokenKind, ...] = ("+", "-", "*", "/")
_SHIFTS: dict[CorruptionKind, int] = {"plus-1": 1, "minus-1": -1, "plus-10": 10, "minus-10": -10}


class NothingToCorruptError(ValueError):
    """The trace states no computed result that could be made wrong."""


@dataclass(frozen=True)
class Corruption:
    """A broken trace and the change that was made to it."""

    trace: Trace
    step: int
    """`TraceStep.i` of the one step whose result is wrong."""
    kind: CorruptionKind
    is_propagated: bool
    original: str
    replaced: str


class _StatedResult(NamedTuple):
    """A computed result in a step: its expression, and the offsets of every occurrence of the result."""

    expression: Sequence[Token]
    spans: tuple[tuple[int, int], ...]
    text: str
    value: Ratio


def corrupt(
    trace: Trace, seed: int, *, kind: CorruptionKind | None = None, propagate: bool = False
) -> Corruption:
    """The trace with the result of one step changed to a wrong one.

    Args:
        trace: a trace with at least one computed result, annotated (`<<2*3=6>>6`) or in prose (`2 * 3 = 6`).
        seed: the same trace and seed give the same corruption.
        kind: how to change the result. None: a random kind that applies.
        propagate: also recompute the later results that use the changed one, and the final answer.

    Raises:
        NothingToCorruptError: no step states a result that can be changed this way.

    Example:
        "48/2 = 24" with kind "plus-1" -> "48/2 = 25"
    """
    rng = random.Random(seed)
    find_results = _annotated_results if any("<<" in step.content for step in trace.steps) else _prose_results
    candidates = [
        (index, results)
        for index, step in enumerate(trace.steps)
        if (results := list(find_results(step.content)))
    ]
    rng.shuffle(candidates)
    for index, results in candidates:
        result = rng.choice(results)
        kinds = [kind] if kind else rng.sample(KINDS, len(KINDS))
        for chosen in kinds:
            replaced = _corrupted_number(result, chosen, rng)
            if replaced is not None:
                broken = _break(trace, index, result, replaced, propagate=propagate)
                return Corruption(broken, trace.steps[index].i, chosen, propagate, result.text, replaced)
    raise NothingToCorruptError(
        f"no step states a result that can be changed by {kind or 'any kind of corruption'}"
    )


def _annotated_results(text: str) -> Iterator[_StatedResult]:
    for match in _ANNOTATION.finditer(text):
        after = _NUMBER_AFTER.match(text, match.end())
        number = match[2].strip()
        if after is not None and _NUMBER_ONLY.fullmatch(number):
            value = read_number(number)[0]
            if read_number(after[1])[0] == value:
                yield _StatedResult(tokenise(match[1]), (match.span(2), after.span(1)), number, value)


def _prose_results(text: str) -> Iterator[_StatedResult]:
    for left, result in _equations(text):
        number = text[result.start : result.end]
        if len(left) > 1 and _NUMBER_ONLY.fullmatch(number):
            yield _StatedResult(left, ((result.start, result.end),), number, read_number(number)[0])


def _equations(text: str) -> Iterator[tuple[list[Token], Token]]:
    for left, right in pairwise(find_expressions(tokenise(text))):
        if right.equality is not None and right.equality.kind == "=" and len(right.tokens) == 1:
            yield left.tokens, right.tokens[0]


def _corrupted_number(result: _StatedResult, kind: CorruptionKind, rng: random.Random) -> str | None:
    """The wrong number, or None when this kind does not apply to this result."""
    if kind == "digit-swap":
        replaced = _swap_digits(result.text, rng)
    elif kind == "wrong-operator":
        replaced = _with_another_operator(result, rng)
    elif kind == "times-10":
        replaced = _format_like(result.text, (result.value[0] * 10, result.value[1]))
    else:
        replaced = _format_like(result.text, apply("+", result.value, (_SHIFTS[kind], 1)))
    if replaced is None:
        return None
    value, decimals = read_number(replaced)
    if value == result.value:
        return None
    exact = evaluate(result.expression)
    # The exact result, or a rounding of it, would not be wrong.
    if exact and abs(value[0] * exact[1] - exact[0] * value[1]) * 10**decimals < exact[1] * value[1]:
        return None
    return replaced


def _swap_digits(text: str, rng: random.Random) -> str | None:
    digits = [i for i, character in enumerate(text) if character.isdigit()]
    pairs = [(i, j) for i, j in pairwise(digits) if text[i] != text[j] and (i > digits[0] or text[j] != "0")]
    if not pairs:
        return None
    i, j = rng.choice(pairs)
    characters = list(text)
    characters[i], characters[j] = characters[j], characters[i]
    return "".join(characters)


def _with_another_operator(result: _StatedResult, rng: random.Random) -> str | None:
    positions = [i for i, token in enumerate(result.expression) if token.kind in OPERATORS and i > 0]
    if not positions:
        return None
    position = rng.choice(positions)
    token = result.expression[position]
    other = rng.choice([operator for operator in _REPLACEMENT_OPERATORS if operator != token.kind])
    changed = [*result.expression[:position], token._replace(kind=other), *result.expression[position + 1 :]]
    return _format_like(result.text, evaluate(changed))


def _format_like(pattern: str, value: Ratio | None) -> str | None:
    """The number in the style of `pattern` (thousands commas, decimals), with two decimals at most.

    Example:
        _format_like("1,250", (5, 2)) -> "2.5"; _format_like("1,250", (12500, 1)) -> "12,500"
    """
    if value is None or value[0] < 0:
        return None
    numerator, denominator = reduced(value)
    decimals = max(read_number(pattern)[1], 0 if denominator == 1 else 1 if 10 % denominator == 0 else 2)
    scaled = (2 * numerator * 10**decimals + denominator) // (2 * denominator)
    digits = str(scaled).rjust(decimals + 1, "0")
    whole, fraction = (digits[:-decimals], digits[-decimals:]) if decimals else (digits, "")
    if "," in pattern:
        whole = f"{int(whole):,}"
    return f"{whole}.{fraction}" if fraction else whole


def _break(trace: Trace, index: int, result: _StatedResult, replaced: str, *, propagate: bool) -> Trace:
    value = read_number(replaced)[0]
    texts = [step.content for step in trace.steps]
    for start, end in sorted(result.spans, reverse=True):
        text = texts[index]
        texts[index] = text[:start] + (_format_like(text[start:end], value) or "") + text[end:]
    final_answer = trace.final_answer
    if propagate:
        changes = {result.value: value}
        for later in range(index + 1, len(texts)):
            texts[later] = _recomputed(texts[later], changes)
        final_answer = _with_changes(final_answer, changes)
    steps = tuple(
        step.model_copy(update={"content": text}) for step, text in zip(trace.steps, texts, strict=True)
    )
    return trace.model_copy(update={"steps": steps, "final_answer": final_answer})


def _recomputed(text: str, changes: dict[Ratio, Ratio]) -> str:
    """The step with the changed numbers inserted and its own results recomputed and added to `changes`."""
    prose = _ANNOTATION.sub(lambda match: " " * len(match[0]), text)
    for expression, result in [*_annotated_equations(text), *_equations(prose)]:
        if not any(token.value in changes for token in expression if token.kind == "number"):
            continue
        exact = evaluate([t._replace(value=changes.get(t.value, t.value)) for t in expression])
        pattern = _NUMBER_ONLY.match(text, result.start)
        number = _format_like(pattern[0], exact) if pattern and not result.is_percent else None
        if number is not None:
            changes[result.value] = read_number(number)[0]
    return _with_changes(text, changes)


def _annotated_equations(text: str) -> Iterator[tuple[list[Token], Token]]:
    for match in _ANNOTATION.finditer(text):
        result = tokenise(match[2])
        if len(result) == 1 and result[0].kind == "number":
            offset = match.start(2)
            yield tokenise(match[1]), result[0]._replace(start=offset, end=offset + len(match[2]))


def _with_changes(text: str, changes: dict[Ratio, Ratio]) -> str:
    def replacement(match: re.Match[str]) -> str:
        value = changes.get(read_number(match[0])[0])
        return match[0] if value is None else _format_like(match[0], value) or match[0]

    return _NUMBER_ONLY.sub(replacement, text)
