from collections.abc import Callable
from pathlib import Path

from support.builders import make_trace
from support.datasets import build, evalset, stored, sums

from tunix_rt.datasets.card import dataset_card


def test_card_matches_golden_file(tmp_path: Path, assert_golden: Callable[[str, str], None]) -> None:
    repeated = stored(make_trace("What is 3 + 7?", ["3 + 7 = 10"], "10", copy=1))
    outcome = build(
        tmp_path,
        [*sums(12), repeated],
        evalsets=[evalset("What is 5 + 7?")],
        splits={"train": 0.5, "validation": 0.5},
        allow_contamination=True,
        license="mit",
        provenance={"by": "a test"},
    )
    manifest = outcome.manifest.model_copy(update={"tool_version": "0.0.0"})
    assert_golden("dataset_card_v1.md", dataset_card(manifest))


def test_card_escapes_labels(tmp_path: Path) -> None:
    rows = [stored(make_trace("a?", source="x | y\n## Injected"))]
    card = dataset_card(build(tmp_path, rows).manifest)
    assert "\n## Injected" not in card
    assert "x \\| y ## Injected 1" in card


def test_parquet_card_names_parquet_files(tmp_path: Path) -> None:
    manifest = build(tmp_path, sums(3)).manifest
    assert "path: train.parquet" in dataset_card(manifest, file_suffix="parquet")
