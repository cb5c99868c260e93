"""Builders of dataset rows, eval sets and datasets."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from support.builders import make_trace
from tunix_rt.base.home import Home
from tunix_rt.datasets.build import build_dataset
from tunix_rt.datasets.contamination import EvalSet
from tunix_rt.datasets.types import BuildOutcome, DatasetSpec, EvalItem, evalset_hash
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import StoredTrace, Trace, canonical_json, trace_id

EPOCH = datetime(2025, 1, 1, tzinfo=UTC)
ALL_IN_TRAIN = {"train": 1.0}


def stored(trace: Trace, *, age_hours: int = 0, score: float | None = None) -> StoredTrace:
    """Return a trace as the store returns it."""
    canonical = canonical_json(trace)
    return StoredTrace(
        id=trace_id(canonical),
        created_at=EPOCH - timedelta(hours=age_hours),
        canonical=canonical,
        score=score,
    )


def sums(count: int, *, first: int = 0) -> list[StoredTrace]:
    """Return `count` different, correct additions."""
    return [
        stored(make_trace(f"What is {n} + 7?", [f"{n} + 7 = {n + 7}"], str(n + 7), source="sums"))
        for n in range(first, first + count)
    ]


def evalset(*prompts: str, name: str = "exam") -> EvalSet:
    """Return an eval set with these questions."""
    items = tuple(
        EvalItem(
            id=f"{name}-{number}",
            prompt=prompt,
            expected_answer="42",
            section="core",
            category="arithmetic",
            difficulty="easy",
        )
        for number, prompt in enumerate(prompts)
    )
    return EvalSet(name=name, items=items, sha256=evalset_hash(items))


def build(
    home: Path, rows: Sequence[StoredTrace], *, evalsets: Sequence[EvalSet] = (), **spec: Any
) -> BuildOutcome:
    """Build a dataset under `home`: by default `demo-v1`, with all rows in train."""
    values = {"dataset_name": "demo", "splits": ALL_IN_TRAIN} | spec
    return build_dataset(DatasetSpec(**values), rows, datasets_dir=home / "datasets", evalsets=evalsets)


def add(store: Home, rows: Sequence[StoredTrace]) -> None:
    """Add rows to a store."""
    TraceRepository(store.database).add_many([(row.trace(), row.canonical) for row in rows])


def jsonl(*traces: Trace) -> bytes:
    """Return the traces as a JSONL file."""
    return b"".join(trace.model_dump_json().encode() + b"\n" for trace in traces)
