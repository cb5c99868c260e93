"""Exports preserve the model on both engines: checkpoints, merged adapters and copies."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from support.training import TrainingWorkspace, workspace_fixture

from tunix_rt.base.errors import ConflictError, InvalidInputError, NotFoundError
from tunix_rt.base.home import Home, open_home
from tunix_rt.engines.export import ExportingEngine, RequestedFormat
from tunix_rt.engines.generation.base import Generator, GeneratorRequest
from tunix_rt.engines.training.data import dataset_rows
from tunix_rt.engines.training.job import TrainingJob
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.types import DeviceRequest, EngineName
from tunix_rt.models.export import REPORT_FILE, ExportRequest, export_directory
from tunix_rt.models.register import register_directory, register_run
from tunix_rt.models.types import ExportReport, ModelVersion
from tunix_rt.recipes.load import load_recipe

workspace = workspace_fixture(*get_args(EngineName))

LORA = (
    "eval.every_steps=null",
    "eval.max_batches=null",
    "output.save_every_steps=1",
    "training.mode=lora",
    "lora.rank=4",
    "lora.targets=[q, down]",
)
CPU = DeviceRequest("cpu")


@pytest.fixture(scope="module")
def runs(workspace: TrainingWorkspace) -> TrainingWorkspace:
    """A run of three steps and a run of two steps."""
    for num_steps in (3, 2):
        workspace.train(f"run-{num_steps}", *LORA, f"training.num_steps={num_steps}")
    return workspace


@pytest.fixture(scope="module")
def store(runs: TrainingWorkspace) -> Iterator[Home]:
    opened = open_home(runs.settings)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def version(runs: TrainingWorkspace, store: Home) -> ModelVersion:
    return register_run(store, "tuned", RunDir(runs.root / "run-3")).version


@dataclass(frozen=True)
class _FaultyEngine:
    """A real engine with a different name or with noise in its merged weights."""

    engine: Any
    name: str
    noise: float = 0.0

    def open_generator(self, request: GeneratorRequest) -> Generator:
        generator: Generator = self.engine.open_generator(request)
        return generator

    def export_checkpoint(self, job: TrainingJob, step: int, directory: Path) -> None:
        self.engine.export_checkpoint(job, step, directory)

    def merge_adapter(self, request: GeneratorRequest, directory: Path, dtype: RequestedFormat) -> None:
        self.engine.merge_adapter(request, directory, dtype)
        random, file = np.random.default_rng(0), directory / "model.safetensors"
        noisy = {
            name: (tensor + random.normal(0, self.noise, tensor.shape)).astype(tensor.dtype)
            for name, tensor in load_file(file).items()
        }
        save_file(noisy, file, metadata={"format": "pt"})


def engine_of(workspace: TrainingWorkspace, **faults: Any) -> ExportingEngine:
    engine: Any = workspace._engine()
    exporting: ExportingEngine = _FaultyEngine(engine, **{"name": engine.name} | faults) if faults else engine
    return exporting


def export(store: Home, engine: ExportingEngine, request: ExportRequest) -> ExportReport:
    return export_directory(store, engine, request, lambda _: None)


def job_of(workspace: TrainingWorkspace, run: str) -> TrainingJob:
    run_dir = RunDir(workspace.root / run)
    resolved = load_recipe(run_dir.recipe)
    data = dataset_rows(workspace.settings, resolved.recipe)
    return TrainingJob(resolved=resolved, data=data, run_dir=run_dir, device=CPU)


def test_checkpoint_export_equals_shorter_run(runs: TrainingWorkspace, tmp_path: Path) -> None:
    engine_of(runs).export_checkpoint(job_of(runs, "run-3"), 2, tmp_path / "model")
    expected = sorted((runs.root / "run-2" / "model").iterdir())
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [path.name for path in expected]
    for path in expected:
        assert (tmp_path / "model" / path.name).read_bytes() == path.read_bytes(), path.name


def test_missing_checkpoint_is_an_error(runs: TrainingWorkspace, tmp_path: Path) -> None:
    job = job_of(runs, "run-3")
    with pytest.raises(NotFoundError, match="no checkpoint of step 9"):
        engine_of(runs).export_checkpoint(job, 9, tmp_path / "model")
    elsewhere = replace(job, checkpoint_dir=tmp_path / "gone")
    with pytest.raises(NotFoundError, match="has no checkpoints"):
        engine_of(runs).export_checkpoint(elsewhere, 2, tmp_path / "model")
    assert not (tmp_path / "gone").exists()


def test_merged_adapter_generates_equal_tokens(
    runs: TrainingWorkspace, store: Home, version: ModelVersion, tmp_path: Path
) -> None:
    output = tmp_path / "merged"
    report = export(store, engine_of(runs), ExportRequest(version, "merged", output, device=CPU))
    assert (report.passed, report.is_same_bytes) == (True, False)
    assert report.tokens is not None
    assert all(prompt.registered for prompt in report.tokens.prompts)
    assert ExportReport.model_validate_json((output / REPORT_FILE).read_bytes()) == report
    assert "merged into its base" in (output / "README.md").read_text()
    whole = register_directory(store, "whole", output).version
    again = export(store, engine_of(runs), ExportRequest(whole, "merged", tmp_path / "again", device=CPU))
    assert (again.passed, again.is_same_bytes) == (True, True)
    with pytest.raises(InvalidInputError, match="whole model"):
        export(store, engine_of(runs), ExportRequest(whole, "adapter", tmp_path / "no", device=CPU))


def test_adapter_copy_is_bit_equal(
    runs: TrainingWorkspace, store: Home, version: ModelVersion, tmp_path: Path
) -> None:
    request = ExportRequest(version, "adapter", tmp_path / "adapter", device=CPU)
    report = export(store, engine_of(runs), request)
    assert (report.passed, report.is_same_bytes) == (True, True)


def test_export_with_different_tokens_fails(
    runs: TrainingWorkspace, store: Home, version: ModelVersion, tmp_path: Path
) -> None:
    faulty = engine_of(runs, noise=1.0)
    report = export(store, faulty, ExportRequest(version, "merged", tmp_path / "merged", device=CPU))
    assert not report.passed
    assert report.tokens is not None
    assert report.tokens.differing[0].first_difference is not None


def test_random_base_requires_original_engine(
    runs: TrainingWorkspace, store: Home, version: ModelVersion, tmp_path: Path
) -> None:
    another = engine_of(runs, name="another")
    with pytest.raises(ConflictError, match=f"--engine {runs.engine}"):
        export(store, another, ExportRequest(version, "merged", tmp_path / "merged", device=CPU))
