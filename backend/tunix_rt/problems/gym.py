"""reasoning-gym as a source of traces and eval items.

Each function takes the metadata of one entry and returns the steps. The adapter keeps an entry only when
the task's own answer stands in the last step and the linter finds no error in the trace.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from difflib import get_close_matches
from math import gcd
from typing import Any, TypeVar

from pydantic import JsonValue

from tunix_rt.base.errors import InvalidInputError, MissingExtraError
from tunix_rt.datasets.types import EvalItem, GymTask
from tunix_rt.traces.linter.findings import CODES
from tunix_rt.traces.linter.linter import lint_trace
from tunix_rt.traces.types import Trace, normalised_prompt, trace_from_text_steps

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

GYM_SOURCE = "reasoning-gym"
# Entries that depend on more than the seed: the global random state, today's date, the order of a set.
NOT_REPRODUCIBLE = frozenset({"list_functions", "polynomial_multiplication", "time_intervals"})
ANY_VERIFIED_ANSWER = "(any answer that the task's verifier accepts)"
"""The expected answer of entries that have none: only the task's own verifier can judge them."""
Entry = tuple[int, dict[str, Any]]
T = TypeVar("T", Trace, EvalItem)
_ENTRIES_TRIED_PER_TRACE = 20


def gym_task_names() -> list[str]:
    """Every task that reasoning-gym registers, sorted."""
    return sorted(_registry())


def gym_traces(name: str, count: int, seed: int) -> Iterator[Trace]:
    """Traces of one task with distinct prompts; the same arguments give the same traces.

    An entry whose own solution does not hold (gsm_symbolic rounds some results in silence) is passed over.
    """
    _known_task(name)
    if name not in GYM_STEPS:
        raise InvalidInputError(
            f"reasoning-gym's {name!r} gives no worked steps, so it cannot become traces.",
            next_step=f"Use it for eval items instead, or choose one of: {', '.join(sorted(GYM_STEPS))}.",
        )
    return _first_distinct(name, _right_traces(name, count, seed), count)


def gym_eval_items(
    name: str, count: int, seed: int, options: Mapping[str, JsonValue] | None = None
) -> Iterator[EvalItem]:
    """Eval items of one task with distinct prompts; the category is the task's name.

    A task with a verifier of its own judges the answers itself; the answers of the others are compared.
    `options` are the task's own, e.g. `{"max_digits": 1}` for chain_sum.
    """
    dataset_class, _ = _known_task(name)
    if name in NOT_REPRODUCIBLE:
        raise InvalidInputError(
            f"reasoning-gym's {name!r} cannot give eval items: its entries do not repeat under a seed.",
            next_step="Choose another task.",
        )
    given = dict(options or {})
    entries = _entries(name, count, seed, given)
    has_verifier = dataset_class.score_answer is not _gym().dataset.ProceduralDataset.score_answer
    items = (
        EvalItem(
            id=f"gym-{name}-{seed}-{index:05d}",
            prompt=entry["question"].strip(),
            expected_answer=ANY_VERIFIED_ANSWER if entry["answer"] is None else str(entry["answer"]),
            section="core",
            category=name,
            difficulty="medium",
            answer_type="task" if has_verifier else None,
            task=GymTask(name=name, seed=seed, index=index, options=given) if has_verifier else None,
        )
        for index, entry in entries
    )
    return _first_distinct(name, items, count)


def _right_traces(name: str, count: int, seed: int) -> Iterator[Trace]:
    for index, entry in _entries(name, count, seed, {}):
        origin: dict[str, Any] = {"source": GYM_SOURCE, "category": "reasoning", "generator": name}
        meta = origin | {"seed": seed, "index": index}
        steps = GYM_STEPS[name](entry["metadata"])
        trace = trace_from_text_steps(entry["question"].strip(), steps, str(entry["answer"]), meta)
        has_error = any(CODES[finding.code].severity == "error" for finding in lint_trace(trace).findings)
        if trace.final_answer in trace.steps[-1].content and not has_error:
            yield trace


def _entries(name: str, count: int, seed: int, options: Mapping[str, JsonValue]) -> Iterator[Entry]:
    size = count * _ENTRIES_TRIED_PER_TRACE
    try:
        dataset = _gym().create_dataset(name, size=size, seed=seed, **options)
    except (AssertionError, TypeError, ValueError) as error:
        _, config_class = _known_task(name)
        names = sorted(field.name for field in fields(config_class) if field.name not in ("seed", "size"))
        raise InvalidInputError(
            f"reasoning-gym's {name!r} does not take {dict(options)}: {error}.",
            next_step=f"Its options are: {', '.join(names)}.",
        ) from error
    return ((index, dataset[index]) for index in range(size))


def _first_distinct(name: str, candidates: Iterator[T], count: int) -> Iterator[T]:
    seen: set[str] = set()
    for candidate in candidates:
        prompt = normalised_prompt(candidate.prompt)
        if prompt not in seen:
            seen.add(prompt)
            yield candidate
        if len(seen) == count:
            return
    raise InvalidInputError(
        f"reasoning-gym's {name!r} gave only {len(seen)} distinct usable prompts, not {count}.",
        next_step="Ask for fewer.",
    )


def _known_task(name: str) -> tuple[Any, Any]:
    """The dataset class and the config class of a task."""
    registry = _registry()
    if name in registry:
        return registry[name]
    close = get_close_matches(name, registry, n=3)
    hint = f"Did you mean {' or '.join(close)}?" if close else "See reasoning-gym's gallery for the names."
    raise InvalidInputError(f"reasoning-gym has no task named {name!r}.", next_step=hint)


def _registry() -> dict[str, tuple[Any, Any]]:
    _gym()
    from reasoning_gym.factory import DATASETS

    return dict(DATASETS)


def _gym() -> Any:
    # Imported on first use: it is an optional extra and takes seconds to load.
    try:
        import reasoning_gym
    except ImportError as error:
        raise MissingExtraError("Generating reasoning-gym tasks", extra="gym") from error
    return reasoning_gym
