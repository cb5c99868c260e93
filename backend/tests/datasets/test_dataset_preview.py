"""Previews and histograms of datasets, on both databases."""

from typing import Any

from fastapi.testclient import TestClient
from support.builders import make_trace
from support.datasets import ALL_IN_TRAIN, add, stored, sums

from tunix_rt.base.home import Home
from tunix_rt.datasets.build import build_from_store, preview_dataset
from tunix_rt.datasets.types import DatasetSpec
from tunix_rt.traces.scoring import score_unscored
from tunix_rt.traces.store import TraceRepository


def spec(**values: Any) -> DatasetSpec:
    return DatasetSpec.model_validate({"dataset_name": "demo"} | values)


def test_preview_matches_build(store: Home) -> None:
    rows = sums(12)
    duplicate = make_trace("What is 3 + 7?", ["3 + 7 = 10"], "10", source="copied")
    add(store, [*rows, stored(duplicate)])
    request = spec(splits={"train": 0.5, "validation": 0.5}, limit=10)
    preview = preview_dataset(store, request)
    assert not preview.is_taken
    manifest = build_from_store(store, request).manifest
    assert (
        (preview.num_considered, preview.num_rows) == (manifest.num_considered, manifest.num_rows) == (13, 10)
    )
    assert preview.removed == manifest.removed
    assert preview.splits == {split.name: split.statistics.num_rows for split in manifest.splits}
    assert preview_dataset(store, request).is_taken


def test_preview_scores_filtered_traces(store: Home) -> None:
    add(store, [*sums(3), stored(make_trace("What is 2 + 2?", ["2 + 2 = 5"], "5"))])
    preview = preview_dataset(store, spec(filters={"without_codes": ["arithmetic-wrong"]}))
    assert (preview.num_matching, preview.num_unscored) == (3, 0)


def test_preview_of_many_traces_is_partial(store: Home) -> None:
    add(store, sums(5))
    preview = preview_dataset(store, spec(filters={"min_score": 1.0}), max_traces=3)
    assert (preview.num_unscored, preview.num_matching) == (5, 0)
    preview = preview_dataset(store, spec(), max_traces=3)
    assert (preview.is_partial, preview.num_considered, preview.num_matching) == (True, 3, 5)


def test_http_preview_and_histograms(client: TestClient, store: Home) -> None:
    add(store, sums(4))
    score_unscored(TraceRepository(store.database), spec().filters)
    body = {"dataset_name": "demo", "splits": ALL_IN_TRAIN}
    preview = client.post("/api/datasets/preview", json=body).json()
    assert (preview["num_rows"], preview["splits"], preview["num_overlapping_rows"]) == (4, {"train": 4}, 0)
    assert client.get("/api/datasets").json()["data"] == []
    client.post("/api/datasets/build", json=body)
    histograms = client.get("/api/datasets/demo-v1/histograms").json()
    assert histograms["steps"] == [{"low": 1, "high": 2, "count": 4}]
    assert sum(bin["count"] for bin in histograms["scores"]) == 4
    assert client.get("/api/datasets/demo-v1/histograms", params={"split": "test"}).status_code == 404
