"""The demo, from the shipped traces to a trained model."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from support.children import run_program

from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.system.demo import Stage, build_demo_dataset


def test_demo_dataset_is_built_once(store: Home) -> None:
    stages: list[Stage] = []
    first = build_demo_dataset(store, on_stage=stages.append)
    assert first.passed
    assert first.traces_with_errors.count == 0
    assert first.planted_errors_found.count == first.planted_errors_found.n
    assert stages == ["collect", "check", "plant", "build", "verify", "xray"]
    again = build_demo_dataset(store, on_stage=stages.append)
    assert (again.imported.num_imported, again.dataset.status) == (0, "unchanged")


def test_each_demo_evaluates_a_new_run(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    first = run_program("demo", "--smoke-steps", "1", settings=settings)
    assert first.returncode == 0, first.stderr
    assert "Demo passed" in first.stdout
    assert "fits" in first.stdout.lower()
    _assert_next_steps_run(first.stdout)
    again = run_program("demo", "--smoke-steps", "1", "--json", settings=settings)
    result = json.loads(again.stdout.splitlines()[-1])
    assert (again.returncode, result["passed"], result["run"]["status"]) == (0, True, "succeeded")
    assert result["plan"]["fits"]
    runs = sorted(settings.runs_dir.iterdir())
    assert len(runs) == 2
    assert all((run / "model" / "model.safetensors").is_file() for run in runs)
    _assert_result_matches_records(result, Path(result["run_dir"]))


def _assert_next_steps_run(printed: str) -> None:
    """Run the printed commands verbatim in a shell without the demo's environment."""
    lines = printed.split("Inspect the result:\n")[1].split("Next,")[0].splitlines()
    show, compare, chat, up = (line.strip() for line in lines)
    environ = {"PATH": os.environ["PATH"]}
    for line in (show, compare, f"{chat.split('#')[0]} --prompt 'What is 1 + 2?'"):
        ran = subprocess.run(line, shell=True, env=environ, capture_output=True, text=True, timeout=120)
        assert ran.returncode == 0, f"{line}: {ran.stderr}"
    assert up.split("#")[0].endswith(" up  ")


def _assert_result_matches_records(result: dict[str, Any], run_dir: Path) -> None:
    """Check that the result agrees with the records of the run, and that one step taught nothing."""
    low, high = result["interval"]
    assert result["before"] == 0
    assert low <= result["after"] <= high <= 0.1
    assert result["num_items"] == 200
    assert result["seconds"] > 0
    evaluation = json.loads((run_dir / "evaluation.json").read_text(encoding="utf-8"))
    assert evaluation["scores"]["primary_score"] == result["after"]
    before, after = result["evaluations"]
    assert before["fingerprint"] == after["fingerprint"] == evaluation["fingerprint"]
    assert (before["model"]["weights"], after["model"]["run_id"]) == ("random", run_dir.name)
    assert len((run_dir / "predictions.jsonl").read_text(encoding="utf-8").splitlines()) == 200
