"""Directories of finished runs, created without training, with the files that an evaluation reads."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.recipes.load import ResolvedRecipe, validate_recipe

NOON = datetime(2025, 1, 1, 12, tzinfo=UTC)


def finished_run(path: Path, *, is_adapter: bool = False, markup: str = "think", **manifest: Any) -> RunDir:
    """Write a run of the built-in Llama, by default a succeeded one; `manifest` replaces its fields."""
    run_dir = RunDir(path)
    run_dir.model.mkdir(parents=True)
    values = {
        "model": {"name": "tiny-llama", "weights": "random"},
        "data": {"dataset": "demo-v1", "markup": markup},
        "training": {"num_steps": 2, "seed": 5, "mode": "lora" if is_adapter else "full"},
    }
    run_dir.recipe.write_text(json.dumps(ResolvedRecipe(recipe=validate_recipe(values)).to_json()))
    weights = "adapter_model.safetensors" if is_adapter else "model.safetensors"
    (run_dir.model / weights).write_bytes(b"not really weights")
    if is_adapter:
        (run_dir.model / "adapter_config.json").write_text('{"base_model_name_or_path": "tiny-llama"}')
    record = {
        "run_id": run_dir.run_id,
        "status": "succeeded",
        "exit_code": 0,
        "engine": "jax",
        "tunix_rt_version": "0",
        "recipe": "tiny",
        "model": "tiny-llama",
        "dataset": "demo-v1",
        "dataset_hash": "d" * 64,
        "mode": "full",
        "is_forced": False,
        "started_at": NOON,
        "finished_at": NOON,
        "durations_s": {},
        "files": run_dir.file_hashes(),
    }
    run_manifest = RunManifest.model_validate(record | manifest)
    run_dir.manifest.write_text(json.dumps(run_manifest.to_json()))
    return run_dir
