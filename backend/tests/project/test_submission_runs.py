"""The evidence committed to this repository verifies."""

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from tunix_rt.evidence.verify import verify_evidence

SUBMISSION_RUNS = Path(__file__).parents[3] / "submission_runs"
# Evaluations without a bundle: of the model before training, and on other evaluation sets.
RECORDS = sorted(path.parent for path in SUBMISSION_RUNS.glob("*/figures.json"))
BUNDLES = sorted(path for path in SUBMISSION_RUNS.iterdir() if path not in RECORDS and path.suffix != ".md")


def test_evidence_is_committed() -> None:
    assert BUNDLES


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.name)
def test_committed_evidence_verifies(bundle: Path) -> None:
    verdict = verify_evidence(bundle)

    assert verdict.passed, verdict.problems
    assert {check.name for check in verdict.checks if check.status == "skipped"} <= {"signature"}


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.name)
def test_committed_records_match_their_evaluations(record: Path) -> None:
    figures = json.loads((record / "figures.json").read_bytes())
    evaluations = list(record.glob("*/evaluation.json"))
    assert len(evaluations) == 3
    for path in evaluations:
        evaluation = json.loads(path.read_bytes())
        assert sha256_of(path.with_name("predictions.jsonl.gz")) == evaluation["predictions_hash"], path
        phase, _, evalset = path.parent.name.partition("-")
        assert figures[phase][evalset]["overall"] == evaluation["scores"]["overall"], path


def sha256_of(path: Path) -> str:
    """Hash the content, decompressed if it is gzipped."""
    content = path.read_bytes()
    return hashlib.sha256(gzip.decompress(content) if path.suffix == ".gz" else content).hexdigest()
