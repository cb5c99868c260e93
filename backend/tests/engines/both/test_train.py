"""Complete runs of a tiny model: the files, the figures, and the errors that end a run."""

import hashlib
import json
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest
from support.training import DATASET, Listener, TrainingWorkspace

from tunix_rt.base.errors import ConflictError, DataError, DeviceError, DivergedError, DoesNotFitError
from tunix_rt.base.files.jsonl import read_json_lines
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.engines.types import DeviceRequest


@pytest.fixture(scope="module")
def listener(workspace: TrainingWorkspace) -> Listener:
    """One listener per engine."""
    return Listener()


@pytest.fixture(scope="module")
def manifest(workspace: TrainingWorkspace, listener: Listener) -> RunManifest:
    return workspace.train("whole", "output.keep_checkpoints=1", view=listener)


@pytest.fixture
def run(workspace: TrainingWorkspace, manifest: RunManifest) -> Path:
    return workspace.root / "whole"


def test_run_has_documented_files(run: Path) -> None:
    # `code.diff` exists only if the checkout has uncommitted changes.
    names = {path.name for path in run.iterdir()} - {".lock", "code.diff"}
    assert names == {
        "recipe.resolved.json",
        "plan.json",
        "environment.json",
        "metrics.jsonl",
        "events.jsonl",
        "log.txt",
        "checkpoints",
        "model",
        "run_manifest.json",
    }


def test_manifest_hashes_every_file(run: Path, manifest: RunManifest) -> None:
    files = [path for path in run.rglob("*") if path.is_file() and path.name != ".lock"]
    hashes = {
        path.relative_to(run).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }
    assert manifest.files == {name: hashes[name] for name in hashes if name != "run_manifest.json"}
    assert (manifest.status, manifest.exit_code, manifest.dataset) == ("succeeded", 0, DATASET)


def test_json_files_have_no_nulls(run: Path) -> None:
    for name in ("run_manifest.json", "environment.json", "plan.json"):
        assert list(null_paths(json.loads((run / name).read_bytes()))) == [], name
    for name in ("metrics.jsonl", "events.jsonl"):
        for line in (run / name).read_text().splitlines():
            found = list(null_paths(json.loads(line)))
            # An override may replace a null.
            assert [path for path in found if "_value" not in path] == [], name


def null_paths(value: Any, path: str = "") -> Iterator[str]:
    if value is None:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from null_paths(inner, f"{path}.{key}")


def test_every_step_logs_metrics(workspace: TrainingWorkspace, run: Path) -> None:
    steps = [line for line in workspace.metrics("whole") if "loss" in line]
    assert [line["step"] for line in steps] == list(range(1, 13))
    assert steps[-1]["loss"] < steps[0]["loss"] - 1
    assert [round(line["lr"], 5) for line in steps[:3]] == [0.00333, 0.00667, 0.01]
    epochs_per_step = steps[0]["epoch"]
    assert steps[11]["epoch"] == pytest.approx(12 * epochs_per_step)
    assert all(0 < line["trained_tokens"] < line["tokens"] <= 4 * 64 for line in steps)


def test_best_checkpoint_is_kept(workspace: TrainingWorkspace, run: Path, manifest: RunManifest) -> None:
    validations = {
        line["step"]: line["validation_loss"]
        for line in workspace.metrics("whole")
        if "validation_loss" in line
    }
    assert list(validations) == [4, 8, 12]
    best_step = min(validations, key=lambda step: validations[step])
    assert manifest.figures is not None
    assert manifest.figures.best_step == best_step
    assert manifest.figures.best_validation_loss == validations[best_step]
    assert workspace.kept_steps("whole") == sorted({best_step, 12})


def test_manifest_reports_planned_memory(run: Path, manifest: RunManifest) -> None:
    plan = json.loads((run / "plan.json").read_bytes())
    assert plan["source"] == {"jax": "compiled", "torch": "estimated"}[manifest.engine]
    assert sum(plan["components"].values()) == plan["per_device_bytes"]
    assert manifest.figures is not None
    assert manifest.figures.planned_memory_bytes == plan["per_device_bytes"]
    assert (manifest.figures.peak_memory_bytes or 0) > plan["per_device_bytes"]


def test_sanity_block_precedes_plan(workspace: TrainingWorkspace, run: Path, listener: Listener) -> None:
    block = next(line for line in listener.lines if line.startswith("model "))
    [plan] = workspace.events("whole", "plan")
    assert listener.lines.index(block) < listener.lines.index(plan["message"])
    for fact in (
        "2 layers, hidden 64, vocabulary 1,024",
        "1 x 4 rows of 64 tokens",
        "trained tokens per step",
        "adamw",
        "compute float32",
        "data 1 x fsdp 1 x tensor 1",
        {"jax": "dense (no fused kernel", "torch": "sdpa (the best kernel of torch"}[workspace.engine],
        "logits [256, 1024] float32 1.0 MiB",
    ):
        assert fact in block
    assert block in (run / "log.txt").read_text()


def test_resolved_recipe_lists_overrides(run: Path) -> None:
    resolved = json.loads((run / "recipe.resolved.json").read_bytes())
    assert resolved["training"]["num_steps"] == 12
    [override] = resolved["overrides"]
    assert (override["key"], override["recipe_value"], override["used_value"]) == (
        "output.keep_checkpoints",
        2,
        1,
    )


def test_existing_run_is_not_overwritten(workspace: TrainingWorkspace, run: Path) -> None:
    before = (run / "run_manifest.json").read_bytes()
    with pytest.raises(ConflictError, match=r"not empty.*--resume"):
        workspace.train("whole")
    assert (run / "run_manifest.json").read_bytes() == before


def test_early_stopping_exports_best_weights(workspace: TrainingWorkspace) -> None:
    sets = ("eval.every_steps=1", "training.learning_rate=0.3", "training.warmup_steps=0")
    stopping = ("eval.early_stop_patience=2", "output.model=best")
    early = workspace.train("early", *sets, *stopping).figures
    assert early is not None
    assert early.best_step is not None
    assert early.num_steps == early.best_step + 2 < 12
    assert early.exported_step == early.best_step
    workspace.train("until-best", *sets, f"training.num_steps={early.best_step}")
    assert workspace.weights("early") == workspace.weights("until-best")
    resumed = workspace.train("early", *sets, *stopping, resume_from="latest").figures
    assert resumed is not None
    assert resumed.num_steps == early.num_steps


def test_divergence_keeps_last_good_state(workspace: TrainingWorkspace) -> None:
    with pytest.raises(DivergedError, match="step 2"):
        workspace.train("diverged", "training.learning_rate=1e38", "training.warmup_steps=0")
    assert workspace.kept_steps("diverged") == [1]
    manifest = workspace.manifest("diverged")
    assert (manifest["status"], manifest["exit_code"], manifest["failure"]["code"]) == (
        "failed",
        6,
        "diverged",
    )
    batch = json.loads((workspace.root / "diverged" / "diverged_batch.json").read_bytes())
    assert batch["step"] == 2
    assert all(len(example["trace_id"]) == 36 for row in batch["rows"] for example in row)
    assert (workspace.root / "diverged" / "diverged_batch.npz").exists()


def test_oversized_run_suggests_fixes(workspace: TrainingWorkspace) -> None:
    # A million rows: the logits alone would take 268 GB. Nothing is allocated.
    sets = ("training.batch_size=1048576", "training.loss_chunk_tokens=null")
    with pytest.raises(DoesNotFitError, match=r"would make it fit: --set training"):
        workspace.train("too-large", *sets)
    plan = json.loads((workspace.root / "too-large" / "plan.json").read_bytes())
    assert not plan["fits"]
    assert len(plan["fixes"]) >= 1
    manifest = workspace.manifest("too-large")
    assert (manifest["status"], manifest["exit_code"], manifest["is_forced"]) == ("failed", 5, False)


def test_missing_device_error_has_install_hint(workspace: TrainingWorkspace) -> None:
    with pytest.raises(DeviceError, match=r"GPU.*Kaggle.*Accelerator"):
        workspace.train("no-gpu", device=DeviceRequest("gpu"))
    assert not (workspace.root / "no-gpu").exists()


def test_refused_data_leaves_no_directory(workspace: TrainingWorkspace) -> None:
    with pytest.raises(DataError, match="longer than the row length 16"):
        workspace.train("too-short", "data.row_length=16")
    assert not (workspace.root / "too-short").exists()


def test_final_peak_memory_covers_all_lines(
    workspace: TrainingWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = chain((9 * 2**30,), repeat(8 * 2**30))
    monkeypatch.setattr(
        f"tunix_rt.engines.{workspace.engine}.devices.peak_process_bytes", lambda: next(marks)
    )

    manifest = workspace.train("estimated", "training.num_steps=3")

    assert manifest.figures is not None
    lines = read_json_lines(workspace.root / "estimated" / "metrics.jsonl")
    assert {line.get("peak_memory_bytes", 9 * 2**30) for line in lines} == {9 * 2**30}
    assert manifest.figures.peak_memory_bytes == 9 * 2**30
