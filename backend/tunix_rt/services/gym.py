"""reasoning-gym as a source of traces (where a solution can be worked honestly) and of eval items."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import JsonValue

from tunix_rt.base.errors import InvalidInputError, MissingExtraError
from tunix_rt.core.generation.gym_steps import GYM_STEPS
from tunix_rt.datasets.types import EvalItem, GymTask
from tunix_rt.traces.linter.findings import CODES
from tunix_rt.traces.linter.linter import lint_trace
from tunix_rt.traces.types import Trace, normalised_prompt, trace_from_text_steps

GYM_SOURCE = "reasoning-gym"
# Entries that depend on more than the seed: the global random state, or today's date.
NOT_REPRODUCIBLE = frozenset({"list_functions", "time_intervals"})
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
    _require_known(name)
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
    _require_known(name)
    if name in NOT_REPRODUCIBLE:
        raise InvalidInputError(
            f"reasoning-gym's {name!r} cannot give eval items: its entries do not repeat under a seed.",
            next_step="Choose another task.",
        )
    entries = _entries(name, count, seed, options or {})
    return _first_distinct(name, _items(name, seed, entries), count)


def _items(name: str, seed: int, entries: Iterator[Entry]) -> Iterator[EvalItem]:
    verified = _has_own_verifier(name)
    for index, entry in entries:
        yield EvalItem(
            id=f"gym-{name}-{seed}-{index:05d}",
            prompt=entry["question"].strip(),
            expected_answer=ANY_VERIFIED_ANSWER if entry["answer"] is None else str(entry["answer"]),
            section="core",
            category=name,
            difficulty="medium",
            answer_type="task" if verified else None,
            task=GymTask(name=name, entry=json.loads(json.dumps(entry))) if verified else None,
        )


def _has_own_verifier(name: str) -> bool:
    """Whether a task does more than to compare texts."""
    dataset_class, _ = _registry()[name]
    return dataset_class.score_answer is not _gym().dataset.ProceduralDataset.score_answer


def _right_traces(name: str, count: int, seed: int) -> Iterator[Trace]:
    for index, entry in _entries(name, count, seed, {}):
        meta = {
            "source": GYM_SOURCE,
            "category": "reasoning",
            "generator": name,
            "seed": seed,
            "index": index,
        }
        steps = GYM_STEPS[name](entry["metadata"])
        trace = trace_from_text_steps(entry["question"].strip(), steps, str(entry["answer"]), meta)
        if _holds(trace):
            yield trace


def _holds(trace: Trace) -> bool:
    has_error = any(CODES[finding.code].severity == "error" for finding in lint_trace(trace).findings)
    return trace.final_answer in trace.steps[-1].content and not has_error


def _entries(name: str, count: int, seed: int, options: Mapping[str, JsonValue]) -> Iterator[Entry]:
    size = count * _ENTRIES_TRIED_PER_TRACE
    try:
        dataset = _gym().create_dataset(name, size=size, seed=seed, **options)
    except (AssertionError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"reasoning-gym's {name!r} does not take {dict(options)}: {error}.",
            next_step=f"Its options are: {', '.join(_option_names(name))}.",
        ) from error
    return ((index, dataset[index]) for index in range(size))


def _option_names(name: str) -> list[str]:
    _, config_class = _registry()[name]
    return sorted(field.name for field in fields(config_class) if field.name not in ("seed", "size"))


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


def _require_known(name: str) -> None:
    registry = _registry()
    if name not in registry:
        close = get_close_matches(name, registry, n=3)
        hint = (
            f"Did you mean {' or '.join(close)}?" if close else "See reasoning-gym's gallery for the names."
        )
        raise InvalidInputError(f"reasoning-gym has no task named {name!r}.", next_step=hint)


def _registry() -> dict[str, Any]:
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
