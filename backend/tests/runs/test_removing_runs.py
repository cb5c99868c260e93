"""Removing a run is refused while something still needs it, on SQLite and PostgreSQL."""

import pytest
from sqlalchemy import insert, update
from support.evaluations import make_evaluation, make_predictions
from support.models import new_version
from support.queued_runs import NOON, claimed, kinds, new_run, queued

from tunix_rt.base.db.engine import writing
from tunix_rt.base.db.schema import sweeps
from tunix_rt.base.errors import ConflictError
from tunix_rt.base.home import Home
from tunix_rt.evaluation.comparison.store import BaselineRepository
from tunix_rt.evaluation.comparison.types import Baseline, GateRule
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.models.store import ModelRepository
from tunix_rt.models.types import ModelLineage
from tunix_rt.runs.store.repository import RunRepository


def finish_run(store: Home) -> None:
    RunRepository(store.database).finish(claimed(store).lease, "succeeded", "Done.")


def test_baseline_blocks_removal(store: Home, runs: RunRepository) -> None:
    finish_run(store)
    predictions = make_predictions("10")
    evaluation = make_evaluation(predictions, name="run-1")
    EvaluationRepository(store.database).add(evaluation, predictions)
    BaselineRepository(store.database).put(
        Baseline(name="main", evaluation_id=evaluation.evaluation_id, rule=GateRule(), created_at=NOON)
    )
    with pytest.raises(ConflictError, match="baselines rm main"):
        runs.remove("run-1")
    BaselineRepository(store.database).delete("main")
    runs.remove("run-1")
    assert EvaluationRepository(store.database).has(evaluation.evaluation_id)


def test_active_sweep_blocks_removal(store: Home, runs: RunRepository) -> None:
    runs.add(new_run(sweep_id="sweep-a"))
    sweep = {"id": "sweep-a", "name": "a", "spec": "{}", "created_at": NOON, "beats": 0, "status": "running"}
    with writing(store.database) as connection:
        connection.execute(insert(sweeps), sweep)
    with pytest.raises(ConflictError, match="tune cancel sweep-a"):
        runs.remove("run-1")
    with writing(store.database) as connection:
        connection.execute(update(sweeps).values(status="succeeded"))
    runs.remove("run-1")


def test_registered_model_blocks_removal(store: Home, runs: RunRepository) -> None:
    finish_run(store)
    version, _ = ModelRepository(store.database).add_version(
        "demo", new_version(lineage=ModelLineage(run_id="run-1"))
    )
    with pytest.raises(ConflictError, match="models rm demo:1"):
        runs.remove("run-1")
    ModelRepository(store.database).remove_version(version.id)
    runs.remove("run-1")


def test_worker_lease_blocks_removal(store: Home, runs: RunRepository) -> None:
    lease = claimed(store).lease
    with pytest.raises(ConflictError, match="runs cancel run-1"):
        runs.remove("run-1")
    runs.finish(lease, "succeeded", "Done.")
    runs.remove("run-1")
    assert runs.ids() == set()
    queued(store)
    assert kinds(store) == ["submitted"], "the events of the removed run are gone"
