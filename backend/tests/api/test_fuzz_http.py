"""Schemathesis sends requests that the OpenAPI document allows, and ones it forbids, to most routes."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.openapi import from_asgi
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from support.apps import make_app
from support.datasets import sums
from support.evaluated_runs import store_answers, write_run
from support.evaluations import NOON
from support.evidence_runs import RUN, packed
from support.sweeps import make_spec

from tunix_rt.base.home import Home
from tunix_rt.base.records import TEXT_PATTERN
from tunix_rt.datasets.build import build_from_store
from tunix_rt.datasets.types import DatasetSpec
from tunix_rt.evaluation.comparison.store import BaselineRepository
from tunix_rt.evaluation.comparison.types import Baseline
from tunix_rt.sweeps.create import create
from tunix_rt.traces.scoring import score_trace
from tunix_rt.traces.store import TraceRepository

EXAMPLES_PER_ROUTE = 25
TIMEOUT_S = 120
"""The default of ten seconds is too short on a busy machine."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]


@pytest.fixture
def known_parameters(store: Home) -> dict[str, dict[str, str]]:
    """Return, by tag, parameter values that refer to stored objects."""
    rows = sums(12)
    TraceRepository(store.database).add_many([(row.trace(), row.canonical) for row in rows])
    score_trace(TraceRepository(store.database), rows[0].id)
    spec = DatasetSpec(dataset_name="fuzzed", splits={"train": 1.0})
    dataset_key = build_from_store(store, spec).dataset_key
    first, second = str(rows[0].id), str(rows[1].id)
    base, other = (store_answers(store, name).evaluation_id for name in ("run-a", "run-b"))
    write_run(store.settings.runs_dir, "run-a")
    BaselineRepository(store.database).put(Baseline(name="main", evaluation_id=other, created_at=NOON))
    return {
        "traces": {"trace_id": first, "base": first, "other": second},
        "datasets": {"dataset_key": dataset_key, "other": dataset_key},
        "evalsets": {"name": "eval_v2"},
        "evaluations": {
            "evaluation_id": str(base),
            "item_id": "one",
            "base": str(base),
            "other": str(other),
        },
        "run evaluations": {"run_id": "run-a"},
        "regression": {"name": "main"},
        "runs": {"run_id": "run-a"},
        "live runs": {"run_id": "run-a"},
        "run files": {"run_id": "run-a", "path": "run_manifest.json"},
        "training": {"dataset_key": dataset_key},
        "serving": {"name": "run-a"},
        "tuning": {"job_id": create_sweep(store, dataset_key)},
        "health": {},
        "session": {},
    }


# Slow on SQLite: the routes are the same, and PostgreSQL rejects more texts.
@pytest.mark.parametrize(
    "settings", [pytest.param("sqlite", marks=pytest.mark.slow), "postgresql"], indirect=True
)
@pytest.mark.parametrize(
    "tag",
    [
        "traces",
        "datasets",
        "evalsets",
        "evaluations",
        "run evaluations",
        "regression",
        "runs",
        "training",
        "serving",
        "health",
        "session",
    ],
)
def test_routes_conform_to_their_schema(
    store: Home, known_parameters: dict[str, dict[str, str]], tag: str
) -> None:
    fuzz_routes(store, tag, known_parameters[tag])


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
@pytest.mark.parametrize("tag", ["live runs", "run files", "tuning"])
def test_more_routes_conform_on_sqlite(
    store: Home, known_parameters: dict[str, dict[str, str]], tag: str
) -> None:
    fuzz_routes(store, tag, known_parameters[tag])


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
def test_evidence_routes_conform_to_schema(store: Home) -> None:
    packed(store.settings.home_dir, store.settings.evidence_dir / RUN)
    fuzz_routes(store, "evidence", {"evidence_id": RUN, "run_id": RUN, "path": "evidence.html"})


def create_sweep(store: Home, dataset_key: str) -> str:
    return create(store, make_spec(dataset=dataset_key)).sweep_id


def fuzz_routes(store: Home, tag: str, known_parameters: dict[str, str]) -> None:
    operations = list(operations_of(store, tag))
    assert operations
    for operation in operations:
        fuzz(operation, known_parameters)


def operations_of(store: Home, tag: str) -> Iterator[APIOperation]:
    """Return the operations of a tag, with DELETE last because the others need the stored objects."""
    app = make_app(store)
    app.openapi_schema = without_text_bounds(app.openapi())
    schema = from_asgi("/openapi.json", app)
    found = [result.ok() for result in schema.get_all_operations()]
    tagged = [operation for operation in found if tag in (operation.tags or ())]
    yield from sorted(tagged, key=lambda operation: operation.method.upper() == "DELETE")


def without_text_bounds(part: Any) -> Any:
    """Remove the bounds of text fields, because generating long text for a pattern takes minutes.

    This is sound: whatever the looser document forbids, the real one forbids too.
    """
    if isinstance(part, list):
        return [without_text_bounds(item) for item in part]
    if not isinstance(part, dict):
        return part
    dropped = {"pattern", "maxLength"} if part.get("pattern") == TEXT_PATTERN else set()
    return {key: without_text_bounds(value) for key, value in part.items() if key not in dropped}


def fuzz(operation: APIOperation, known_parameters: dict[str, str]) -> None:
    """Send generated requests to one route and check every response."""

    @given(case=cases(operation, known_parameters))
    @settings(
        max_examples=EXAMPLES_PER_ROUTE,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def send(case: Case) -> None:
        case.call_and_validate(checks=CHECKS, timeout=TIMEOUT_S)

    send()


def cases(operation: APIOperation, known_parameters: dict[str, str]) -> strategies.SearchStrategy[Case]:
    """Return valid and invalid requests for existing and for unknown objects."""
    path_parameters = {
        name: known_parameters[name] for name in names(operation.path_parameters) if name in known_parameters
    }
    query = {name: known_parameters[name] for name in names(operation.query) if name in known_parameters}
    requests = [operation.as_strategy(mode) for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)]
    if path_parameters or query:
        requests.append(operation.as_strategy(path_parameters=path_parameters, query=query))
        requests.append(operation.as_strategy(GenerationMode.NEGATIVE, path_parameters=path_parameters))
    return strategies.one_of(requests)


def names(parameters: Iterable[Any]) -> list[str]:
    return [parameter.name for parameter in parameters]
