"""What must hold of each run after a fault soak."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tunix_rt.base.files.jsonl import read_json_lines
from tunix_rt.base.home import Home
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.training.types import RunManifest, RunStatus
from tunix_rt.runs.files import JobDir
from tunix_rt.runs.store.repository import RunRepository

Problems = list[str]
NUM_STEPS = 12


def problems_of(store: Home, run_id: str, expected: tuple[RunStatus, ...]) -> Problems:
    """Everything that is wrong with a run that has ended; nothing, one hopes."""
    run = RunRepository(store.database).get(run_id)
    found = [] if run.status in expected else [f"{run.status}, not {' or '.join(expected)}: {run.failure}"]
    sequences = [event.sequence for event in RunRepository(store.database).events(run_id)]
    if sequences != list(range(len(sequences))):
        found.append(f"its history has the numbers {sequences}")
    run_dir, job_dir = RunDir(store.settings.runs_dir / run_id), JobDir(store.settings.jobs_dir / run_id)
    if "Another process is writing the run" in job_dir.output_tail(num_bytes=1 << 24):
        found.append("a second engine was turned away")
    if run_dir.events.exists():
        found += _problems_of_events(run_dir)
        found += _problems_of_log(run_dir, job_dir, num_attempts=run.num_attempts)
    if run.status == "succeeded":
        found += _problems_of_success(run_dir)
    return [f"{run_id}: {problem}" for problem in found]


def losses_of(store: Home, run_id: str) -> tuple[tuple[int, float, str], ...]:
    """Step, loss and batch of every step: equal in all runs of a recipe, however often they were killed."""
    lines = read_json_lines(store.settings.runs_dir / run_id / "metrics.jsonl")
    return tuple((line["step"], line["loss"], line["batch_sha256"]) for line in lines)


def _problems_of_events(run_dir: RunDir) -> Problems:
    numbers = [event["sequence"] for event in read_json_lines(run_dir.events)]
    return [] if numbers == list(range(len(numbers))) else [f"its engine's events have the numbers {numbers}"]


def _problems_of_log(run_dir: RunDir, job_dir: JobDir, *, num_attempts: int) -> Problems:
    """Each step that the engine wrote into its own log was printed once.

    An engine that is killed between the two has written one line that it never printed.
    """
    written, printed = _step_lines(run_dir.log), _step_lines(job_dir.output)
    missing = (written - printed).total()
    found = [f"{missing} lines are lost"] if missing > num_attempts else []
    return found + [f"a line is doubled: {line}" for line in printed - written]


def _step_lines(path: Path) -> Counter[str]:
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    return Counter(line for line in text.split("\n") if line.startswith("step ") and " | lr " in line)


def _problems_of_success(run_dir: RunDir) -> Problems:
    steps = [line["step"] for line in read_json_lines(run_dir.metrics)]
    found = [] if steps == list(range(1, NUM_STEPS + 1)) else [f"its metrics have the steps {steps}"]
    manifest: dict[str, Any] = json.loads(run_dir.manifest.read_bytes())
    if RunManifest.model_validate(manifest).files != run_dir.file_hashes():
        found.append("its files are not those of its manifest")
    return found
