"""The `tunix-rt evidence` commands."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.evidence_runs import RUN, evaluated_run, trained_run
from typer.testing import CliRunner

from tunix_rt.base.errors import DataError, TunixRTError
from tunix_rt.cli.main import app
from tunix_rt.evidence.reader import TYPES

ROOT = Path(__file__).parents[3]


def run(*arguments: str | Path, exit_code: int = 0) -> str:
    done = CliRunner().invoke(app, ["evidence", *map(str, arguments)])
    if isinstance(done.exception, TunixRTError):
        raise done.exception
    assert done.exit_code == exit_code, done.output
    return done.stdout


@pytest.fixture
def home() -> Path:
    return Path(os.environ["TUNIX_RT_HOME"])


def test_run_is_packed_and_verified(home: Path) -> None:
    evaluated_run(home)

    output = run("pack", RUN)

    assert "answers 50.0% of sums right (n = 2)" in output
    assert f"tunix-rt evidence verify {home / 'evidence' / RUN}" in output
    assert "VERIFIED" in run("verify", home / "evidence" / RUN)
    assert "answers 50.0%" in " ".join(run("list").split())
    assert json.loads(run("list", "--json"))["pagination"]["total"] == 1


def test_verify_writes_json_and_html(home: Path, tmp_path: Path) -> None:
    evaluated_run(home)
    path = json.loads(run("pack", RUN, "--to", tmp_path / "out", "--zip", "--json"))["path"]

    verdict = json.loads(run("verify", path, "--json", "--html", tmp_path / "verdict.html"))

    assert verdict["passed"]
    page = (tmp_path / "verdict.html").read_text(encoding="utf-8")
    assert "<h1>Verified: out.zip</h1>" in page


def test_invalid_bundle_exits_1(home: Path, tmp_path: Path) -> None:
    evaluated_run(home)
    run("pack", RUN, "--to", tmp_path / "bundle")
    (tmp_path / "bundle" / "log.txt").write_text("<script>alert(1)</script>")
    (tmp_path / "bundle" / "<script>").write_text("")

    output = run("verify", tmp_path / "bundle", "--html", tmp_path / "verdict.html", exit_code=1)

    assert "NOT VERIFIED" in output
    assert "log.txt is truncated" in output
    assert "Do not trust this bundle." in output
    assert "answers 50.0%" not in output
    assert output.count("next: Get another copy") == 1
    assert output.count("next: Move the unlisted files") == 1
    assert "<script>" not in (tmp_path / "verdict.html").read_text(encoding="utf-8")


def test_failed_run_needs_failure_report(home: Path) -> None:
    trained_run(home, fails=True)

    with pytest.raises(DataError, match="not a success"):
        run("pack", RUN)

    assert "FAILURE REPORT" in run("pack", RUN, "--failure-report")


def test_evidence_page_is_self_contained(home: Path) -> None:
    evaluated_run(home)
    run("pack", RUN)

    page = (home / "evidence" / RUN / "evidence.html").read_text(encoding="utf-8")

    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page)
    assert "<script" not in page
    assert page.count("<polyline") == 3
    assert "prefers-color-scheme: dark" in page


def package_submission(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    script = ROOT / "backend" / "tools" / "package_submission.py"
    return subprocess.run(
        [sys.executable, script, *arguments], capture_output=True, text=True, encoding="utf-8", timeout=300
    )


def test_submission_from_run_or_bundle(home: Path, tmp_path: Path) -> None:
    run_dir = evaluated_run(home)
    run("pack", RUN, "--to", tmp_path / "submission_runs" / RUN)

    from_run = package_submission("--run-dir", run_dir.path, "--output", tmp_path / "one")
    from_bundle = package_submission(
        "--run-dir", tmp_path / "submission_runs" / RUN, "--output", tmp_path / "two"
    )

    assert (from_run.returncode, from_bundle.returncode) == (0, 0), from_run.stderr + from_bundle.stderr
    assert "VERIFIED" in run("verify", tmp_path / "one" / f"{RUN}.zip")
    assert "VERIFIED" in run("verify", tmp_path / "two" / f"{RUN}.zip")


def test_incomplete_submission_is_rejected(home: Path, tmp_path: Path) -> None:
    run_dir = trained_run(home)

    result = package_submission("--run-dir", run_dir.path, "--output", tmp_path / "one")

    assert result.returncode == 3
    assert "predictions.jsonl is missing" in result.stderr
    assert not list((tmp_path / "one").iterdir())


def test_schemas_are_listed_and_printed() -> None:
    assert run("schema").split() == sorted(TYPES)
    assert json.loads(run("schema", "run_manifest"))["title"] == "RunManifest"
