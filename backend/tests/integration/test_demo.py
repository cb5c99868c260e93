"""The demo: from shipped traces to a trained model."""

import json
from pathlib import Path

from support.children import run_program

from tunix_rt.config.settings import Settings
from tunix_rt.services.demo import Stage, build_demo_dataset
from tunix_rt.services.store import Store


def test_the_demo_builds_a_checked_dataset_and_builds_it_once(store: Store) -> None:
    stages: list[Stage] = []
    first = build_demo_dataset(store, on_stage=stages.append)
    assert first.passed
    assert first.traces_with_errors.count == 0
    assert first.planted_errors_found.count == first.planted_errors_found.n
    assert stages == ["collect", "check", "plant", "build", "verify", "xray"]
    again = build_demo_dataset(store, on_stage=stages.append)
    assert (again.imported.num_imported, again.dataset.status) == (0, "unchanged")


def test_the_demo_ends_with_a_trained_model_each_time_in_a_run_of_its_own(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    compiled = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    first = run_program("demo", "--smoke-steps", "1", settings=settings, **compiled)
    assert first.returncode == 0, first.stderr
    assert "Demo passed." in first.stdout
    assert "fits" in first.stdout.lower()
    again = run_program("demo", "--smoke-steps", "1", "--json", settings=settings, **compiled)
    result = json.loads(again.stdout)
    assert (again.returncode, result["passed"], result["run"]["status"]) == (0, True, "succeeded")
    assert result["plan"]["fits"]
    runs = list(settings.runs_dir.iterdir())
    assert len(runs) == 2
    assert all((run / "model" / "model.safetensors").is_file() for run in runs)
