"""The end-to-end demo, in the terminal and for the web app."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.assets import shipped_dataset_path, shipped_recipe_path, shipped_traces
from tunix_rt.base.errors import ConflictError
from tunix_rt.base.files.atomic import storage_errors, write_atomically
from tunix_rt.base.home import Home
from tunix_rt.base.logs import redacted
from tunix_rt.base.records import Record
from tunix_rt.base.settings import Settings
from tunix_rt.base.statistics import Share, wilson_share
from tunix_rt.datasets.build import build_from_store
from tunix_rt.datasets.service import DatasetVerdict, verify_dataset
from tunix_rt.datasets.types import BuildOutcome, DatasetSpec
from tunix_rt.datasets.xray.inspect import ModelChoice, XrayOptions, xray_dataset
from tunix_rt.datasets.xray.report import XrayReport, xray_html
from tunix_rt.engines.generation.base import GeneratingEngine
from tunix_rt.engines.planning.service import PlanOptions, PlanProgress, plan_recipe
from tunix_rt.engines.planning.targets import find_target
from tunix_rt.engines.planning.types import Plan
from tunix_rt.engines.training.data import dataset_rows, new_run_dir, smoke_flags
from tunix_rt.engines.training.job import Engine, TrainingJob
from tunix_rt.engines.training.records import View
from tunix_rt.engines.training.run import run
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.engines.types import Decoding, DeviceName, DeviceRequest
from tunix_rt.evaluation.comparison.compare import compare_evaluations
from tunix_rt.evaluation.comparison.types import PairedDifference
from tunix_rt.evaluation.evaluate import EvaluationRequest, evaluate
from tunix_rt.evaluation.predict import EvaluationView
from tunix_rt.evaluation.service import load_predictions
from tunix_rt.evaluation.types import Estimate, Evaluation, Prediction
from tunix_rt.problems.demo_arithmetic import DEMO_DATASET, DEMO_EVALSET
from tunix_rt.recipes.load import ResolvedRecipe, load_recipe
from tunix_rt.recipes.types import Recipe
from tunix_rt.traces.corruption import corrupt
from tunix_rt.traces.importer import ImportOptions, ImportReport, import_traces
from tunix_rt.traces.linter.findings import CODES
from tunix_rt.traces.linter.linter import lint_trace
from tunix_rt.traces.scoring import score_unscored
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import Trace, TraceFilter

NUM_PLANTED_ERRORS = 300

Stage = Literal["collect", "check", "plant", "build", "verify", "xray"]


class DemoData(BaseModel):
    """The results of the data stages of the demo."""

    model_config = ConfigDict(frozen=True)
    passed: bool
    imported: ImportReport
    traces_with_errors: Share
    """Traces with a linter error; none are expected."""
    planted_errors_found: Share
    """Corrupted steps of correct traces that the linter flagged at the right step."""
    dataset: BuildOutcome
    verdict: DatasetVerdict
    xray: XrayReport
    page: str
    """The X-ray as a self-contained page."""


def build_demo_dataset(home: Home, *, on_stage: Callable[[Stage], None]) -> DemoData:
    """Collect, check, build, verify, X-ray. Running it again gives the same result."""
    settings, traces = home.settings, TraceRepository(home.database)
    on_stage("collect")
    options = ImportOptions(source=DEMO_DATASET)
    imported = import_traces(traces, shipped_dataset_path(DEMO_DATASET), options, name=DEMO_DATASET)
    on_stage("check")
    of_the_demo = TraceFilter(source=DEMO_DATASET)
    score_unscored(traces, of_the_demo)
    with_errors = _traces_with_errors(traces, of_the_demo)
    on_stage("plant")
    planted_found = _planted_errors_found()
    on_stage("build")
    name, _, version = DEMO_DATASET.rpartition("-")
    spec = DatasetSpec(dataset_name=name, dataset_version=version, filters=of_the_demo, license="Apache-2.0")
    dataset = build_from_store(home, spec)
    on_stage("verify")
    verdict = verify_dataset(settings.datasets_dir, spec.dataset_key)
    on_stage("xray")
    recipe = load_recipe(shipped_recipe_path("demo")).recipe
    xray_options = XrayOptions(row_length=recipe.data.row_length, packed=True, max_examples=None)
    report = xray_dataset(settings.datasets_dir, spec.dataset_key, ModelChoice("tiny"), xray_options)
    page = settings.home_dir / f"{spec.dataset_key}-xray.html"
    with write_atomically(page, what="writing the X-ray") as file:
        file.write(xray_html(report, title=spec.dataset_key).encode())
    return DemoData(
        passed=with_errors.count == 0 and verdict.intact and report.passed,
        imported=imported,
        traces_with_errors=with_errors,
        planted_errors_found=planted_found,
        dataset=dataset,
        verdict=verdict,
        xray=report,
        page=str(page),
    )


def _traces_with_errors(traces: TraceRepository, criteria: TraceFilter) -> Share:
    errors = {code for code, info in CODES.items() if info.severity == "error"}
    without_errors = criteria.model_copy(update={"without_codes": tuple(sorted(errors))})
    num_all = traces.list(criteria, limit=1, offset=0).total
    num_right = traces.list(without_errors, limit=1, offset=0).total
    return wilson_share(num_all - num_right, num_all)


def _planted_errors_found() -> Share:
    lines = islice(shipped_traces(DEMO_DATASET), NUM_PLANTED_ERRORS)
    broken = [corrupt(Trace.model_validate_json(line), seed) for seed, line in enumerate(lines)]
    found = [
        any(
            finding.code == "arithmetic-wrong" and finding.step == corruption.step
            for finding in lint_trace(corruption.trace).findings
        )
        for corruption in broken
    ]
    return wilson_share(sum(found), len(found))


_RECIPE = "demo"
DEMO_DEVICE: DeviceName = "cpu"


@dataclass(frozen=True)
class DemoTraining:
    """A planned training run."""

    settings: Settings
    resolved: ResolvedRecipe
    plan: Plan
    run_dir: RunDir

    def run(self, engine: Engine, view: View) -> RunManifest:
        """Train. The run directory is always new."""
        job = TrainingJob(
            resolved=self.resolved,
            data=dataset_rows(self.settings, self.resolved.recipe),
            run_dir=self.run_dir,
            device=DeviceRequest(DEMO_DEVICE),
            recipe_name=_RECIPE,
        )
        return run(engine, job, view)


def plan_demo_training(settings: Settings, *, smoke_steps: int | None = None) -> DemoTraining:
    """Read the shipped recipe and plan it for this machine's CPU.

    Args:
        settings: The home of dataset and run.
        smoke_steps: Stop after this many steps. None: as in the recipe.
    """
    path = shipped_recipe_path(_RECIPE)
    resolved = load_recipe(path)
    if smoke_steps is not None:
        flags = smoke_flags(resolved.recipe, smoke_steps, reason="--smoke-steps")
        resolved = load_recipe(path, flags=flags)
    plan = plan_recipe(
        settings, resolved.recipe, find_target(DEMO_DEVICE), PlanOptions(is_fast=True), PlanProgress()
    )
    return DemoTraining(settings, resolved, plan, new_run_dir(settings, path, None))


MIN_ACCURACY = 0.9
"""Every seed that was tried exceeds it."""


@dataclass(frozen=True)
class DemoResult:
    """Evaluations before and after, on the same questions with the same protocol."""

    before: Evaluation
    after: Evaluation
    difference: PairedDifference
    example: Prediction | None
    """The first correct answer after training, if any."""

    @property
    def accuracies(self) -> tuple[Estimate, Estimate]:
        """Before and after."""
        before, after = (evaluation.scores.overall.accuracy for evaluation in (self.before, self.after))
        assert before is not None  # a random model generates text, which can always be judged
        assert after is not None
        return before, after

    @property
    def has_learned(self) -> bool:
        """Whether the trained model reaches `MIN_ACCURACY`."""
        return self.accuracies[1].value >= MIN_ACCURACY


def evaluate_demo_model(
    home: Home,
    engine: GeneratingEngine,
    recipe: Recipe,
    view: EvaluationView,
    *,
    run_dir: RunDir | None = None,
) -> Evaluation:
    """Evaluate the model that the run exported; without a run, the weights from which training starts."""
    request = EvaluationRequest(
        model=recipe.model.name,
        weights="random",
        weights_seed=recipe.training.seed,
        evalset=DEMO_EVALSET,
        # No completion of the training set is longer than a row.
        decoding=Decoding(max_new_tokens=recipe.data.row_length),
        device=DeviceRequest(DEMO_DEVICE),
    )
    if run_dir is not None:
        request = replace(request, model=str(run_dir.path), weights="pretrained", weights_seed=0)
    return evaluate(home, engine, request, view)


def demo_result(home: Home, before: Evaluation, after: Evaluation) -> DemoResult:
    """Compare the two evaluations."""
    difference = compare_evaluations(home, before, after).overall
    assert difference is not None  # both were asked the same questions
    right = (one for one in load_predictions(home, after) if one.judgement.is_correct)
    return DemoResult(before, after, difference, next(right, None))


_COMMAND = (sys.executable, "-m", "tunix_rt.cli", "demo", "--json")
_STOP_TIMEOUT_S = 10.0
"""Seconds for saving the run."""
_SHOWN_LINES = 6

DemoStatus = Literal["none", "running", "succeeded", "failed"]


class DemoFigures(Record):
    """Accuracy on the same held-out questions."""

    before: float
    """Accuracy before training."""
    after: float
    low: float
    """Of the 95 % interval of `after`."""
    high: float
    num_items: int


class DemoState(Record):
    """Status of the demo project."""

    status: DemoStatus
    stage: str | None = None
    """Current stage, such as `7/10 planning the training`."""
    figures: DemoFigures | None = None
    failure: str | None = None
    """The last lines of its output."""


class DemoProject:
    """At most one demo at a time; it ends with the server."""

    def __init__(self, settings: Settings, command: Sequence[str] = _COMMAND) -> None:
        self._settings = settings
        self._command = command
        self._log = settings.home_dir / "demo" / "log.txt"
        self._result = settings.home_dir / "demo" / "result.json"
        self._starting = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> DemoState:
        """Start the demo; results of earlier ones are kept.

        Raises:
            ConflictError: A demo is running.
        """
        with self._starting, storage_errors("starting the demo"):
            if self._is_running():
                raise ConflictError("The demo is already running.", next_step="Wait until it has finished.")
            self._log.parent.mkdir(parents=True, exist_ok=True)
            environment = os.environ | {"TUNIX_RT_HOME": str(self._settings.home_dir)}
            if self._settings.database_url is not None:
                environment["TUNIX_RT_DATABASE_URL"] = self._settings.database_url
            with self._result.open("wb") as result, self._log.open("wb") as log:
                # In its own session: Ctrl-C goes to the server, which lets the demo save first.
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=result,
                    stderr=log,
                    env=environment,
                    start_new_session=True,
                )
        return self.state()

    def state(self) -> DemoState:
        """Its status, whichever server process started it."""
        lines = _lines(self._log)
        # A line such as `7/10 planning the training; …`: what follows the semicolon is for a terminal.
        stages = [line.partition(";")[0] for line in lines if line.partition("/10 ")[0].isdecimal()]
        stage = stages[-1] if stages else None
        if self._is_running():
            return DemoState(status="running", stage=stage)
        if not self._log.exists():
            return DemoState(status="none")
        *_, last = _lines(self._result) or [""]
        if not last.startswith("{"):
            return DemoState(status="failed", stage=stage, failure="\n".join(lines[-_SHOWN_LINES:]))
        result = json.loads(last)
        low, high = result["interval"]
        values = {key: result[key] for key in ("before", "after", "num_items")}
        return DemoState(
            status="succeeded" if result["passed"] else "failed",
            stage=stage,
            figures=DemoFigures(**values, low=low, high=high),
        )

    def close(self) -> None:
        """Stop the demo after it has saved its run."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None


def _lines(path: Path) -> list[str]:
    with storage_errors("reading the demo's output"):
        try:
            return redacted(path.read_text(encoding="utf-8", errors="replace")).splitlines()
        except FileNotFoundError:
            return []
