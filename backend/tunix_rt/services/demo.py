"""The first part of the demo: from shipped traces to a checked dataset and its X-ray."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.assets import shipped_dataset_path, shipped_recipe_path, shipped_traces
from tunix_rt.base.files.atomic import write_atomically
from tunix_rt.base.home import Home
from tunix_rt.base.statistics import Share, wilson_share
from tunix_rt.datasets.build import build_from_store
from tunix_rt.datasets.service import DatasetVerdict, verify_dataset
from tunix_rt.datasets.types import BuildOutcome, DatasetSpec
from tunix_rt.datasets.xray.inspect import ModelChoice, XrayOptions, xray_dataset
from tunix_rt.datasets.xray.report import XrayReport, xray_html
from tunix_rt.problems.demo_arithmetic import DEMO_DATASET
from tunix_rt.recipes.load import load_recipe
from tunix_rt.traces.corruption import corrupt
from tunix_rt.traces.importer import ImportOptions, ImportReport, import_traces
from tunix_rt.traces.linter.findings import CODES
from tunix_rt.traces.linter.linter import lint_trace
from tunix_rt.traces.service import Progress, score_unscored
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import Trace, TraceFilter

NUM_PLANTED_ERRORS = 300

Stage = Literal["collect", "check", "plant", "build", "verify", "xray"]


class DemoData(BaseModel):
    """What the demo made of the traces, every figure as it came out."""

    model_config = ConfigDict(frozen=True)
    passed: bool
    imported: ImportReport
    traces_with_errors: Share
    """Traces with a linter finding that is an error: should be none."""
    planted_errors_found: Share
    """Wrong steps planted in right traces that the linter found, at the very step."""
    dataset: BuildOutcome
    verdict: DatasetVerdict
    xray: XrayReport
    page: str
    """The X-ray as a self-contained page."""


def build_demo_dataset(
    home: Home, *, on_stage: Callable[[Stage], None], progress: Progress = lambda _: None
) -> DemoData:
    """Collect, check, build, verify, X-ray. Running it again changes nothing and says the same."""
    settings = home.settings
    on_stage("collect")
    options = ImportOptions(source=DEMO_DATASET)
    imported = import_traces(
        TraceRepository(home.database), shipped_dataset_path(DEMO_DATASET), options, name=DEMO_DATASET
    )
    on_stage("check")
    of_the_demo = TraceFilter(source=DEMO_DATASET)
    score_unscored(TraceRepository(home.database), of_the_demo, progress=progress)
    with_errors = _traces_with_errors(home, of_the_demo)
    on_stage("plant")
    planted_found = _planted_errors_found()
    on_stage("build")
    name, _, version = DEMO_DATASET.rpartition("-")
    spec = DatasetSpec(dataset_name=name, dataset_version=version, filters=of_the_demo, license="Apache-2.0")
    dataset = build_from_store(home, spec, progress=progress)
    on_stage("verify")
    verdict = verify_dataset(settings.datasets_dir, spec.dataset_key)
    on_stage("xray")
    recipe = load_recipe(shipped_recipe_path("demo")).recipe
    xray_options = XrayOptions(row_length=recipe.data.row_length, packed=True, max_examples=None)
    report = xray_dataset(settings.datasets_dir, spec.dataset_key, ModelChoice("tiny"), xray_options)
    page = settings.home_dir / f"{spec.dataset_key}-xray.html"
    _write_page(page, report, spec.dataset_key)
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


def _traces_with_errors(home: Home, criteria: TraceFilter) -> Share:
    errors = {code for code, info in CODES.items() if info.severity == "error"}
    without_errors = criteria.model_copy(update={"without_codes": tuple(sorted(errors))})
    num_all, num_right = (
        TraceRepository(home.database).list(chosen, limit=1, offset=0).total
        for chosen in (criteria, without_errors)
    )
    return wilson_share(num_all - num_right, num_all)


def _planted_errors_found() -> Share:
    broken = [corrupt(trace, seed) for seed, trace in enumerate(islice(_demo_traces(), NUM_PLANTED_ERRORS))]
    found = [
        any(
            finding.code == "arithmetic-wrong" and finding.step == corruption.step
            for finding in lint_trace(corruption.trace).findings
        )
        for corruption in broken
    ]
    return wilson_share(sum(found), len(found))


def _demo_traces() -> Iterator[Trace]:
    return (Trace.model_validate_json(line) for line in shipped_traces(DEMO_DATASET))


def _write_page(page: Path, report: XrayReport, title: str) -> None:
    with write_atomically(page, what="writing the X-ray") as file:
        file.write(xray_html(report, title=title).encode())
