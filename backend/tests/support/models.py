"""Models and runs to register, created without training."""

import json
import shutil
from pathlib import Path
from typing import Any

from support.run_dirs import finished_run
from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.models.register import register_run
from tunix_rt.models.types import ModelLineage, ModelVersion, NewVersion


def sqlite_home(template: Path, home: Path) -> Settings:
    """Create an empty SQLite store, for tests that do not need both databases."""
    home.mkdir(parents=True, exist_ok=True)
    shutil.copy(template, home / "tunix_rt.db")
    return Settings(home=home)


def new_version(content: str = "a", **values: Any) -> NewVersion:
    """Return a model version without files."""
    defaults: dict[str, Any] = {
        "kind": "model",
        "content_hash": content * 64,
        "size_bytes": 7_000_000_000,
        "num_files": 3,
        "lineage": ModelLineage(dataset="demo-v1"),
    }
    return NewVersion(**defaults | values)


def succeeded_run(store: Home, run_id: str = "first", *, weights: str = "weights", **values: Any) -> RunDir:
    """Create a succeeded run with fake weights in the home directory."""
    run_dir = finished_run(store.settings.runs_dir / run_id, **values)
    if (run_dir.model / "model.safetensors").exists():
        (run_dir.model / "config.json").write_text('{"model_type": "llama"}')
        (run_dir.model / "model.safetensors").write_text(weights)
    else:
        (run_dir.model / "adapter_model.safetensors").write_text(weights)
    manifest = json.loads(run_dir.manifest.read_text())
    run_dir.manifest.write_text(json.dumps(manifest | {"files": run_dir.file_hashes()}))
    return run_dir


def registered(store: Home, name: str = "demo", run_id: str = "first", **values: Any) -> ModelVersion:
    """Create a succeeded run and register its model."""
    succeeded_run(store, run_id, **{"weights": f"weights of {run_id}"} | values)
    return register_run(store, name, run_id).version


def plain_model(path: Path, weights: str = "weights") -> Path:
    """Create a model directory with fake weights that no run made."""
    path.mkdir(parents=True)
    (path / "config.json").write_text('{"model_type": "llama"}')
    (path / "model.safetensors").write_text(weights)
    return path
