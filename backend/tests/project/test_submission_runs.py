"""The evidence in this repository holds: whoever changes the code that reads it, or a byte of it, is told."""

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from tunix_rt.evidence.verify import verify_evidence

SUBMISSION_RUNS = Path(__file__).parents[3] / "submission_runs"
# Evaluations beside a bundle: those of the model before its training, and of other questions.
RECORDS = sorted(path.parent for path in SUBMISSION_RUNS.glob("*/figures.json"))
BUNDLES = sorted(path for path in SUBMISSION_RUNS.iterdir() if path not in RECORDS and path.suffix != ".md")


def test_there_is_evidence() -> None:
    assert BUNDLES


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.name)
def test_committed_evidence_verifies(bundle: Path) -> None:
    verdict = verify_evidence(bundle)

    assert verdict.passed, verdict.problems
    assert {check.name for check in verdict.checks if check.status == "skipped"} <= {"signature"}


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.name)
def test_committed_records_are_what_their_evaluations_wrote(record: Path) -> None:
    figures = json.loads((record / "figures.json").read_bytes())
    evaluations = list(record.glob("*/evaluation.json"))
    assert len(evaluations) == 3
    for path in evaluations:
        evaluation = json.loads(path.read_bytes())
        assert sha256_of(path.with_name("predictions.jsonl.gz")) == evaluation["predictions_hash"], path
        when, _, evalset = path.parent.name.partition("-")
        assert figures[when][evalset]["overall"] == evaluation["scores"]["overall"], path


def sha256_of(path: Path) -> str:
    """Of what was written, before it was gzipped."""
    content = path.read_bytes()
    return hashlib.sha256(gzip.decompress(content) if path.suffix == ".gz" else content).hexdigest()
