"""A run is removed unless somebody needs it, on SQLite and on PostgreSQL."""

import pytest
from sqlalchemy import insert, update
from support.evaluations import make_evaluation, make_predictions
from support.models import new_version
from support.queued_runs import NOON, claimed, kinds, new_run, queued

from tunix_rt.core.errors import ConflictError
from tunix_rt.core.evaluation.comparison import Baseline, GateRule
from tunix_rt.core.models.version import Lineage
from tunix_rt.db.engine import writing
from tunix_rt.db.schema import sweeps
from tunix_rt.services.store import Store


def ended(store: Store) -> None:
    store.runs.finish(claimed(store).lease, "succeeded", "Done.")


def test_a_run_stays_while_a_baseline_is_an_evaluation_of_it(store: Store) -> None:
    ended(store)
    made = make_predictions("10")
    evaluation = make_evaluation(made, name="run-1")
    store.evaluations.add(evaluation, made)
    store.baselines.put(
        Baseline(name="main", evaluation_id=evaluation.evaluation_id, rule=GateRule(), created_at=NOON)
    )
    with pytest.raises(ConflictError, match="baselines rm main"):
        store.runs.remove("run-1")
    store.baselines.delete("main")
    store.runs.remove("run-1")
    assert store.evaluations.has(evaluation.evaluation_id)


def test_a_run_stays_while_its_sweep_goes_on(store: Store) -> None:
    store.runs.add(new_run(sweep_id="sweep-a"))
    sweep = {"id": "sweep-a", "name": "a", "spec": "{}", "created_at": NOON, "beats": 0, "status": "running"}
    with writing(store.engine) as connection:
        connection.execute(insert(sweeps), sweep)
    with pytest.raises(ConflictError, match="tune cancel sweep-a"):
        store.runs.remove("run-1")
    with writing(store.engine) as connection:
        connection.execute(update(sweeps).values(status="succeeded"))
    store.runs.remove("run-1")


def test_a_run_stays_while_a_registered_model_comes_from_it(store: Store) -> None:
    ended(store)
    version, _ = store.models.add_version("demo", new_version(lineage=Lineage(run_id="run-1")))
    with pytest.raises(ConflictError, match="models rm demo:1"):
        store.runs.remove("run-1")
    store.models.remove_version(version.id)
    store.runs.remove("run-1")


def test_a_run_is_removed_unless_a_worker_has_it(store: Store) -> None:
    lease = claimed(store).lease
    with pytest.raises(ConflictError, match="runs cancel run-1"):
        store.runs.remove("run-1")
    store.runs.finish(lease, "succeeded", "Done.")
    store.runs.remove("run-1")
    assert store.runs.ids() == set()
    queued(store)
    assert kinds(store) == ["submitted"], "nothing is left of the events of the first one"
