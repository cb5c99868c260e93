"""Concurrent clients: every response has a documented status."""

import random
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from fastapi.testclient import TestClient
from support.evaluated_runs import store_answers, write_run
from support.http import body

from tunix_rt.base.home import Home
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import TraceFilter

NUM_CLIENTS = 8
NUM_ROUNDS = 25
PROMPTS = [f"What is {n} + 3?" for n in range(4)]


def test_concurrent_trace_requests_never_fail(client: TestClient, store: Home) -> None:
    ids = [entry["id"] for entry in client.post("/api/traces/batch", json=bodies()).json()["traces"]]

    def run_client(seed: int) -> set[int]:
        rng = random.Random(seed)
        seen: set[int] = set()
        for _ in range(NUM_ROUNDS):
            method, path, content = rng.choice(trace_actions(rng.choice(ids)))
            seen.add(client.request(method, path, json=content).status_code)
        return seen

    with ThreadPoolExecutor(NUM_CLIENTS) as pool:
        statuses = set().union(*pool.map(run_client, range(NUM_CLIENTS)))
    assert statuses <= {200, 201, 204, 404}
    assert client.post("/api/traces/batch", json=bodies()).status_code == 201
    assert num_found(store) == num_found(store, query="what") == len(PROMPTS)


def trace_actions(trace_id: str) -> list[tuple[str, str, object]]:
    return [
        ("POST", "/api/traces", body(PROMPTS[0])),
        ("POST", "/api/traces/batch", bodies()),
        ("POST", f"/api/traces/{trace_id}/score", None),
        ("POST", f"/api/traces/{trace_id}/score", None),
        ("GET", f"/api/traces/{trace_id}/report", None),
        ("DELETE", f"/api/traces/{trace_id}", None),
    ]


def bodies() -> list[dict[str, object]]:
    return [body(prompt) for prompt in PROMPTS]


def num_found(store: Home, **criteria: str) -> int:
    return len(list(TraceRepository(store.database).iter_selected(TraceFilter(**criteria))))


def test_concurrent_evaluation_requests_never_fail(client: TestClient, store: Home) -> None:
    write_run(store.settings.runs_dir, "run-a")
    ids = [str(store_answers(store, name).evaluation_id) for name in ("run-a", "run-b", "run-c")]

    def run_client(seed: int) -> set[int]:
        rng = random.Random(seed)
        chosen = [rng.choice(evaluation_actions(*rng.sample(ids, 2))) for _ in range(NUM_ROUNDS)]
        return {client.request(method, path, json=content).status_code for method, path, content in chosen}

    with ThreadPoolExecutor(NUM_CLIENTS) as pool:
        statuses = set().union(*pool.map(run_client, range(NUM_CLIENTS)))
    assert statuses <= {200, 201, 204, 404, 409, 422}
    total = client.get("/api/evaluations").json()["pagination"]["total"]
    assert total == len(list(store.settings.evaluations_dir.iterdir())) + num_never_on_disk(store, ids)


def evaluation_actions(base: str, other: str) -> list[tuple[str, str, object]]:
    return [
        ("POST", "/api/tunix/runs/run-a/evaluate", None),
        ("POST", f"/api/evaluations/{base}/rescore", None),
        ("GET", f"/api/evaluations/compare?base={base}&other={other}", None),
        ("GET", f"/api/evaluations/{base}/samples.jsonl", None),
        ("GET", "/api/tunix/leaderboard", None),
        ("POST", "/api/regression/baselines", {"name": "main", "evaluation_id": base}),
        ("POST", "/api/regression/check", {"evaluation_id": other, "baseline_name": "main"}),
        ("DELETE", "/api/regression/baselines/main", None),
        ("DELETE", f"/api/evaluations/{base}", None),
    ]


def num_never_on_disk(store: Home, ids: list[str]) -> int:
    return sum(EvaluationRepository(store.database).has(UUID(evaluation_id)) for evaluation_id in ids)
