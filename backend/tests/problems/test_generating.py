"""Generating traces from built-in families and reasoning-gym tasks."""

from collections import Counter

import pytest

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.problems.generate import FAMILIES, generate_traces, list_generators


def test_default_uses_all_families() -> None:
    traces = list(generate_traces(None, len(FAMILIES), seed=1))
    assert {trace.meta["generator"] for trace in traces} == set(FAMILIES)


def test_generators_share_count_evenly() -> None:
    traces = list(generate_traces(["mean", "gym:chain_sum", "gym:gcd"], 10, seed=1))
    assert Counter(trace.meta["generator"] for trace in traces) == {"mean": 3, "chain_sum": 4, "gcd": 3}


def test_gym_task_works_alone() -> None:
    assert len(list(generate_traces(["gym:lcm"], 7, seed=1))) == 7


def test_zero_count_is_rejected() -> None:
    with pytest.raises(InvalidInputError, match="at least 1"):
        list(generate_traces(["gym:lcm"], 0, seed=1))


def test_list_names_required_extra() -> None:
    extras = {info.name: info.extra for info in list_generators()}
    assert extras["gym:gsm_symbolic"] == "gym"
    assert extras["mean"] == ""
