"""Traces made by code: our own worked generators and reasoning-gym behind one list of task names."""

from collections.abc import Iterator, Sequence

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.core.generation.generate import FAMILIES, generate
from tunix_rt.core.generation.gym_steps import GYM_STEPS
from tunix_rt.services.gym import gym_traces
from tunix_rt.traces.types import Trace

GYM_PREFIX = "gym:"


class GeneratorInfo(BaseModel):
    """What `traces generate --list` shows of a task."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    topic: str
    category: str
    extra: str = ""
    """The optional extra that the task needs; empty when it needs none."""


def list_generators() -> list[GeneratorInfo]:
    """All tasks that can be generated; needs no optional extra."""
    own = [GeneratorInfo(name=f.name, topic=f.topic, category=f.category) for f in FAMILIES.values()]
    gym = [
        GeneratorInfo(name=f"{GYM_PREFIX}{name}", topic="reasoning_gym", category="reasoning", extra="gym")
        for name in sorted(GYM_STEPS)
    ]
    return own + gym


def generate_traces(tasks: Sequence[str] | None, count: int, seed: int) -> Iterator[Trace]:
    """That many traces, shared evenly between the tasks; the same arguments give the same traces.

    Args:
        tasks: names of our generators and `gym:NAME` of reasoning-gym tasks, or None for all of ours.
        count: how many traces in all.
        seed: any whole number.

    Example:
        generate_traces(["column_addition", "gym:gsm_symbolic"], 10, seed=1) -> 5 of each
    """
    own = None if not tasks else [task for task in tasks if not task.startswith(GYM_PREFIX)]
    gym = [
        task.removeprefix(GYM_PREFIX) for task in dict.fromkeys(tasks or ()) if task.startswith(GYM_PREFIX)
    ]
    if own is None or not gym:
        yield from generate(own, count, seed)
        return
    if count < 1:
        raise InvalidInputError(f"Cannot generate {count} traces.", next_step="Ask for at least 1.")
    num_tasks = len(set(own)) + len(gym)
    per_gym_task = [count // num_tasks + (position < count % num_tasks) for position in range(len(gym))]
    num_own = count - sum(per_gym_task)
    if own and num_own:
        yield from generate(own, num_own, seed)
    for name, num_traces in zip(gym, per_gym_task, strict=True):
        if num_traces:
            yield from gym_traces(name, num_traces, seed)
