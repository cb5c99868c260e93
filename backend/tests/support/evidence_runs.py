"""A small finished run with its dataset and evaluation, and evidence bundles of it, without a model."""

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from support.datasets import build, sums
from support.evaluations import make_generation, make_protocol
from support.recipes import make_recipe
from tunix_rt.base.errors import DataError, DivergedError
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.types import EvalItem, evalset_hash
from tunix_rt.engines.planning.types import Plan
from tunix_rt.engines.training.data import dataset_rows
from tunix_rt.engines.training.job import TrainingJob, TrainingResult
from tunix_rt.engines.training.preparation import Prepared, prepare
from tunix_rt.engines.training.records import Progress, RunRecords
from tunix_rt.engines.training.run import run
from tunix_rt.engines.training.run_dir import RunDir, add_run_files, read_manifest
from tunix_rt.engines.training.types import MetricsLine, RunEnvironment, RunFigures, ValidationLine
from tunix_rt.engines.weights.sources import weights_digest
from tunix_rt.evaluation.evaluate import finish_evaluation
from tunix_rt.evaluation.files import EvaluationDir
from tunix_rt.evaluation.scoring.judgement import protocol_versions
from tunix_rt.evaluation.types import EvaluationStart, FinishedBatch
from tunix_rt.evidence.documents import CRATE_FILE, json_text, ro_crate
from tunix_rt.evidence.files import BundleWriter, open_bundle
from tunix_rt.evidence.pack import PackRequest, pack_evidence
from tunix_rt.evidence.page import PAGE_FILE, evidence_page
from tunix_rt.evidence.reader import Contents
from tunix_rt.evidence.types import EVIDENCE_FILE, EvidenceFile, EvidenceManifest, kind_of
from tunix_rt.models.types import EvaluatedModel
from tunix_rt.recipes.load import ResolvedRecipe

RUN = "run-1"
DATASET = "demo-v1"
LOSSES = (3.0, 2.0, 1.5)
ITEMS = (
    EvalItem(id="one", prompt="What is 9 + 9?", expected_answer="18", category="sum", difficulty="easy"),
    EvalItem(id="two", prompt="What is 9 + 8?", expected_answer="17", category="sum", difficulty="hard"),
)
ANSWERS = {"one": "18", "two": "18"}
"""One correct and one wrong answer."""
TOKENS_PER_S = 10_000.0
RECIPE = {
    "data.row_length": 64,
    "training.num_steps": len(LOSSES),
    "training.batch_size": 2,
    "training.learning_rate": 1e-3,
    "eval.every_steps": len(LOSSES),
    "eval.split": "train",
    "output.log_every_steps": 1,
}
ENVIRONMENT = RunEnvironment(
    python="3.11.7",
    platform="Linux",
    num_cpus=2,
    packages={"numpy": "2.0.0"},
    variables={"OMP_NUM_THREADS": "1"},
    engine="fake",
    device="cpu: 1 x cpu",
    devices=("cpu:0",),
    device_memory_bytes=1 << 30,
    commit="c" * 40,
    is_dirty=False,
    code_sha256="d" * 64,
    installed={"numpy": "2.0.0", "pydantic": "2.12.0"},
)
PLAN = Plan(
    model="tiny-llama",
    target="local",
    fits=True,
    per_device_bytes=1,
    limit_bytes=2,
    components={"weights": 1},
    source="estimated",
    reason="Fits.",
    num_devices=1,
    num_target_devices=1,
    mesh={"data": 1},
    tokens_per_step=8,
    flops_per_step=1.0,
    step_seconds=1.0,
)


class SilentView:
    """A view that shows nothing."""

    def show_line(self, text: str) -> None:
        """Ignore a line."""

    def show_progress(self, progress: Progress, *, is_due: bool) -> None:
        """Ignore a step."""


@dataclass(frozen=True)
class WritingEngine:
    """Writes the files of a training run without training."""

    fails: bool = False
    losses: tuple[float, ...] = LOSSES
    seed: int = 0
    """Seed of the batch hashes."""
    name: str = "fake"

    def train(self, job: TrainingJob, records: RunRecords) -> TrainingResult:
        prepared = prepare(job.resolved.recipe, job.data)
        records.log("engine fake: there is no other")
        records.begin(step=0)
        records.log(f"devices    {ENVIRONMENT.device}")
        records.write_json("recipe.resolved.json", job.resolved.to_json())
        records.write_json("environment.json", ENVIRONMENT.to_json())
        records.write_json("plan.json", PLAN.model_dump(mode="json", exclude_none=True))
        records.event("started", f"run {job.run_dir.run_id}")
        for step, loss in enumerate(self.losses, start=1):
            line = _line(prepared, step, loss, self.seed)
            records.metrics(line)
            records.progress(Progress(step, len(self.losses), loss, line.lr, None, None))
        if self.fails:
            raise DivergedError("The loss is no longer a number.", next_step="Lower the learning rate.")
        records.metrics(_validation(prepared, len(LOSSES), 1.75))
        job.run_dir.model.mkdir()
        (job.run_dir.model / "model.safetensors").write_bytes(b"weights" * 10)
        return TrainingResult(
            RunFigures(
                num_steps=len(LOSSES),
                num_planned_steps=len(LOSSES),
                num_examples=prepared.batches.num_examples,
                num_dropped_examples=prepared.batches.num_dropped,
                fill_ratio=prepared.batches.fill_ratio,
                final_loss=LOSSES[-1],
                validation_loss=1.75,
                best_validation_loss=1.75,
                best_step=len(LOSSES),
                tokens_per_s=TOKENS_PER_S,
                peak_memory_bytes=2_000,
            )
        )


def _line(prepared: Prepared, step: int, loss: float, seed: int) -> MetricsLine:
    batch = prepared.batches.batch(step - 1)
    return MetricsLine(
        step=step,
        epoch=prepared.epoch_after(step),
        loss=loss,
        lr=prepared.recipe.training.learning_rate_at(step - 1, prepared.num_steps),
        grad_norm=1.0,
        tokens=int((batch.segment_ids > 0).sum()),
        trained_tokens=batch.num_trained_tokens,
        batch_sha256=hashlib.sha256(bytes([seed])).hexdigest() if seed else batch.sha256,
        tokens_per_s=TOKENS_PER_S if step > 1 else None,
        peak_memory_bytes=1_000 + step,
        time=datetime.now(UTC),
    )


def _validation(prepared: Prepared, step: int, loss: float) -> ValidationLine:
    return ValidationLine(
        step=step,
        epoch=prepared.epoch_after(step),
        validation_loss=loss,
        validation_tokens=4,
        time=datetime.now(UTC),
    )


def trained_run(
    home: Path, *, run_id: str = RUN, fails: bool = False, engine: WritingEngine | None = None
) -> RunDir:
    """Run `WritingEngine` on four sums with the runner that all engines share."""
    settings = Settings(home=home)
    build(home, sums(4))
    resolved = ResolvedRecipe(recipe=make_recipe("tiny-llama", **{"data.dataset": DATASET, **RECIPE}))
    job = TrainingJob(
        resolved=resolved,
        data=dataset_rows(settings, resolved.recipe),
        run_dir=RunDir(settings.runs_dir / run_id),
        recipe_name="tiny",
    )
    try:
        run(engine or WritingEngine(fails), job, SilentView())
    except DivergedError:
        assert fails
    return job.run_dir


def evaluated_run(home: Path) -> RunDir:
    """Return a trained run with an evaluation."""
    run_dir = trained_run(home)
    evaluate(home, run_dir)
    return run_dir


def evaluate(home: Path, run_dir: RunDir) -> None:
    """Add an evaluation with fixed answers to a run: one of two is correct."""
    directory = EvaluationDir(Settings(home=home).evaluations_dir / str(UUID(int=7)))
    protocol = make_protocol(evalset_hash=evalset_hash(ITEMS), versions=protocol_versions(ITEMS))
    run, digest = read_manifest(run_dir), weights_digest({"model": run_dir.model}, lambda _share: None)
    assert run is not None
    assert digest is not None
    start = EvaluationStart(
        evaluation_id=UUID(int=7),
        created_at=datetime.now(UTC),
        model=EvaluatedModel(
            name=run_dir.run_id,
            origin="run",
            run_id=run_dir.run_id,
            base_model=run.model,
            dataset=run.dataset,
            dataset_hash=run.dataset_hash,
            recipe=run.recipe,
            weights_hash=digest.total,
            weight_files=digest.files,
        ),
        evalset="sums",
        protocol=protocol,
    )
    directory.begin(start, ITEMS)
    generations = [
        make_generation(
            item.id, text=f"<reasoning>\n9 + 9 = 18\n</reasoning>\n<answer>{ANSWERS[item.id]}</answer>"
        )
        for item in ITEMS
    ]
    batch = FinishedBatch(
        engine="fake",
        device=ENVIRONMENT.device,
        precision="float32",
        num_generations=len(generations),
        num_new_tokens=sum(generation.num_new_tokens for generation in generations),
        seconds=0.01,
    )
    with directory.writing() as add:
        add(generations, batch)
    finish_evaluation(directory, start)
    add_run_files(run_dir, {path.name: path for path in (directory.predictions, directory.evaluation)})


def packed(home: Path, to: Path, **request: Any) -> Path:
    """Write an evidence bundle of an evaluated run."""
    run_dir = evaluated_run(home)
    return pack_evidence(Settings(home=home), PackRequest(run_dir, to=to, **request)).path


def change_json(path: str, change: Callable[[Any], None]) -> Callable[[Path], None]:
    """Return a function that tampers with a JSON file of a bundle."""

    def forge(bundle: Path) -> None:
        value = json.loads((bundle / path).read_bytes())
        change(value)
        (bundle / path).write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")

    return forge


def reseal(bundle: Path, *, renders: bool = True) -> None:
    """Recompute every hash of a changed bundle and render its pages again, as a careful forger would."""
    _rehash_run(bundle)
    old = EvidenceManifest.model_validate_json((bundle / EVIDENCE_FILE).read_bytes())
    if renders:
        with suppress(DataError, ArithmeticError, ValueError):  # invalid files cannot be rendered
            _render_again(bundle, old)
    manifest = json.loads((bundle / "run_manifest.json").read_bytes())
    sealed = old.model_copy(update={"status": manifest["status"], "files": _files(bundle, old)})
    writer = BundleWriter(bundle)
    writer.finish(sealed.sealed())
    writer.write_sums()


def _files(bundle: Path, old: EvidenceManifest) -> tuple[EvidenceFile, ...]:
    return tuple(
        file.model_copy(
            update={"sha256": _sha256(bundle / file.path), "size_bytes": (bundle / file.path).stat().st_size}
        )
        for file in old.files
        if (bundle / file.path).is_file()
    )


def _render_again(bundle: Path, old: EvidenceManifest) -> None:
    with open_bundle(bundle) as opened:
        contents = Contents(opened)
        manifest = old.model_copy(update={"files": _files(bundle, old)})
        (bundle / PAGE_FILE).write_text(evidence_page(contents, manifest), encoding="utf-8")
        listed = [file for file in _files(bundle, old) if file.path != CRATE_FILE]
        crate = ro_crate(contents.manifest(), old.headline, listed, old.created_at.isoformat())
        (bundle / CRATE_FILE).write_text(json_text(crate.to_json()), encoding="utf-8")


def _rehash_run(bundle: Path) -> None:
    evaluation = json.loads((bundle / "evaluation.json").read_bytes())
    evaluation["predictions_hash"] = _sha256(bundle / "predictions.jsonl")
    (bundle / "evaluation.json").write_text(json.dumps(evaluation, indent=2))
    manifest = json.loads((bundle / "run_manifest.json").read_bytes())
    for path in manifest["files"]:
        kind = kind_of(path)
        if kind is not None and kind.is_from_run and (bundle / path).is_file():
            manifest["files"][path] = _sha256(bundle / path)
    (bundle / "run_manifest.json").write_text(json.dumps(manifest, indent=2))
    provenance = json.loads((bundle / "provenance.intoto.json").read_bytes())
    for subject in provenance["subject"]:
        subject["digest"]["sha256"] = manifest["files"][subject["name"]]
    (bundle / "provenance.intoto.json").write_text(json_text(provenance))


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
