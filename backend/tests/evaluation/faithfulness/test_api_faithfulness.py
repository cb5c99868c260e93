"""Faithfulness reports over HTTP."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from fastapi.testclient import TestClient
from support.evaluations import make_evaluation, make_model, make_predictions
from support.http import error_of

from tunix_rt.base.files.atomic import write_json_atomically
from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.engines.types import Decoding
from tunix_rt.evaluation.faithfulness.outcomes import score_group
from tunix_rt.evaluation.faithfulness.types import FaithfulnessReport, FaithfulnessSetup
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.models.types import EvaluatedModel

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def add_report(settings: Settings, model: EvaluatedModel, *, age_hours: int = 0) -> UUID:
    """Write a report without trials."""
    report_id = uuid4()
    report = FaithfulnessReport(
        created_at=NOON - timedelta(hours=age_hours),
        tunix_rt_version="0.1.0",
        setup=make_setup(model),
        num_items=2,
        excluded={"cut-off": 2},
        overall=score_group([]),
        by_depth={},
        examples={},
        trials=(),
    )
    path = settings.faithfulness_dir / str(report_id) / "faithfulness.json"
    write_json_atomically(path, report.to_json(), what="writing the report")
    return report_id


def make_setup(model: EvaluatedModel) -> FaithfulnessSetup:
    return FaithfulnessSetup(
        model=model,
        evalset="exam",
        evalset_hash="e" * 64,
        template_hash="c" * 64,
        markup="reasoning",
        decoding=Decoding(),
        check_text="Check:",
        is_check_split=False,
        detector_version="1",
        engine="jax",
        device="cpu",
        precision="float32",
        seed=0,
    )


def test_reports_are_listed_newest_first(client: TestClient, store: Home) -> None:
    older = add_report(store.settings, make_model("model-a"), age_hours=1)
    newer = add_report(store.settings, make_model("model-b"))
    (store.settings.faithfulness_dir / "not-a-report").mkdir()
    listed = client.get("/api/faithfulness").json()["data"]
    assert [report["report_id"] for report in listed] == [str(newer), str(older)]
    report = client.get(f"/api/faithfulness/{older}").json()
    assert (report["setup"]["model"]["name"], report["excluded"], report["trials"]) == (
        "model-a",
        {"cut-off": 2},
        [],
    )
    error_of(client.get(f"/api/faithfulness/{uuid4()}"), 404)


@pytest.mark.parametrize(
    ("hashes", "is_found"),
    [((None, None), True), (("a", None), True), (("a", "a"), True), (("a", "b"), False)],
)
def test_evaluation_finds_reports_by_weights(
    client: TestClient, store: Home, hashes: tuple[str | None, str | None], is_found: bool
) -> None:
    predictions = make_predictions("1")
    evaluation = make_evaluation(predictions, model=make_model("run-a", weights_hash=hashes[0]))
    EvaluationRepository(store.database).add(evaluation, predictions)
    report_id = add_report(store.settings, make_model("run-a", weights_hash=hashes[1]))
    add_report(store.settings, make_model("run-b"))
    found = client.get(f"/api/evaluations/{evaluation.evaluation_id}/faithfulness").json()["data"]
    assert [report["report_id"] for report in found] == ([str(report_id)] if is_found else [])
    error_of(client.get(f"/api/evaluations/{uuid4()}/faithfulness"), 404)


def test_damaged_report_explains_next_step(client: TestClient, store: Home) -> None:
    report_id = add_report(store.settings, make_model("model-a"))
    (store.settings.faithfulness_dir / str(report_id) / "faithfulness.json").write_text("{}")
    assert "measure again" in error_of(client.get(f"/api/faithfulness/{report_id}"), 422)["next_step"]
