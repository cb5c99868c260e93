"""Train the first steps of a run again and compare the losses."""

import signal
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from tunix_rt.base.errors import InvalidInputError, TunixRTError
from tunix_rt.base.files.jsonl import read_json_lines
from tunix_rt.base.settings import Settings
from tunix_rt.base.signals import Interrupted
from tunix_rt.engines.training.data import dataset_rows
from tunix_rt.engines.training.job import TrainingJob
from tunix_rt.engines.training.records import Progress, View
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.training.types import MetricsLine, RunManifest
from tunix_rt.engines.types import DeviceName, DeviceRequest
from tunix_rt.engines.weights.sources import with_absolute_paths
from tunix_rt.evidence.checks.run import read_dataset
from tunix_rt.evidence.files import Bundle, copy_out
from tunix_rt.evidence.reader import Contents
from tunix_rt.evidence.types import BundleProblem, Check, EvidenceManifest, check_of
from tunix_rt.recipes.load import Flag, load_recipe
from tunix_rt.recipes.types import EvalSection

Train = Callable[[str, TrainingJob, View], RunManifest]
"""Engine name, job and view -> manifest of the run."""

FLOAT32_TOLERANCE = 1e-4
ROUGH_TOLERANCE = 2e-2
"""For bfloat16 and for devices with nondeterministic sums. Both are relative for losses above 1."""


@dataclass(frozen=True)
class Replay:
    """Trains the first steps again when called, and returns the check."""

    num_steps: int
    train: Train
    view: View
    device: DeviceName = "auto"
    """auto: the kind of device of the run."""

    def __call__(self, bundle: Bundle, manifest: EvidenceManifest) -> Check:
        """Train in a temporary directory."""
        try:
            with tempfile.TemporaryDirectory(prefix="tunix-rt-") as folder:
                return self._compare(Contents(bundle), Path(folder))
        except TunixRTError as error:
            problem = BundleProblem(detail=error.detail, next_step=error.next_step)
            return check_of("replay", "not trained again", [problem])

    def _compare(self, contents: Contents, folder: Path) -> Check:
        stated = self._logged_steps(contents)
        again = self._train_again(contents, folder)
        compute = contents.recipe().get("training", {}).get("precision", {}).get("compute")
        is_exact = compute == "float32" and _device(contents.environment().device) == "cpu"
        tolerance = FLOAT32_TOLERANCE if is_exact else ROUGH_TOLERANCE
        problems, largest = [], 0.0
        for line in stated:
            other = again.get(line.step)
            difference = 0.0 if other is None else abs(line.loss - other.loss)
            largest = max(largest, difference)
            if other is None:
                problems.append(f"step {line.step} was not reached")
            elif line.batch_sha256 not in (None, other.batch_sha256):
                problems.append(f"step {line.step} was trained on another batch")
            elif difference > tolerance * max(1.0, abs(line.loss)):
                problems.append(f"step {line.step} has loss {line.loss}; trained again {other.loss}")
        detail = (
            f"{max(again, default=0)} steps trained again, {len(stated)} of them logged and compared; "
            f"largest difference of a loss {largest:.2g}, {tolerance:g} allowed"
        )
        num_steps = max(again, default=0)
        counted = "1 step" if num_steps == 1 else f"{num_steps:,} steps"
        found = [BundleProblem(detail=problem) for problem in problems]
        return check_of("replay", detail, found, shows=f"replayed ({counted})")

    def _logged_steps(self, contents: Contents) -> list[MetricsLine]:
        lines = (line for line in contents.metrics() if isinstance(line, MetricsLine))
        first = next(lines, None)
        if first is None or first.step > self.num_steps:
            least = "no steps" if first is None else f"step {first.step} first"
            raise InvalidInputError(
                f"The run logged {least}: no loss of the first {self.num_steps} steps can be compared.",
                next_step="Replay more steps." if first is None else f"Use --replay {first.step} or more.",
            )
        return [first, *(line for line in lines if line.step <= self.num_steps)]

    def _train_again(self, contents: Contents, folder: Path) -> dict[int, MetricsLine]:
        settings = Settings(home=folder)
        _write_dataset(contents, settings.datasets_dir)
        path = folder / "recipe.resolved.json"
        path.write_bytes(contents.text("recipe.resolved.json"))
        # Log every step, without checkpoints and evaluations.
        changes = {
            "output.log_every_steps": 1,
            "output.save_every_steps": None,
            "output.model": "final",
            "eval.every_steps": None,
            "eval.split": EvalSection().split,
            "eval.max_batches": None,
            "eval.early_stop_patience": None,
        }
        flags = {key: Flag(value, "--replay") for key, value in changes.items()}
        recipe = with_absolute_paths(load_recipe(path, flags=flags))
        environment = contents.environment()
        run_dir = RunDir(folder / "replay")
        job = TrainingJob(
            resolved=recipe,
            data=dataset_rows(settings, recipe.recipe),
            run_dir=run_dir,
            device=DeviceRequest(_device(environment.device) if self.device == "auto" else self.device),
            is_forced=contents.manifest().is_forced,
        )
        self.train(environment.engine, job, _UntilStep(self.num_steps, self.view))
        lines = (line for line in read_json_lines(run_dir.metrics) if "loss" in line)
        return {line["step"]: MetricsLine.model_validate(line, strict=False) for line in lines}


@dataclass(frozen=True)
class _UntilStep:
    """A view that interrupts the training at a step."""

    step: int
    view: View

    def show_line(self, text: str) -> None:
        self.view.show_line(text)

    def show_progress(self, progress: Progress, *, is_due: bool) -> None:
        self.view.show_progress(progress, is_due=is_due)
        if progress.step >= self.step:
            raise Interrupted(signal.SIGTERM)


def _write_dataset(contents: Contents, datasets_dir: Path) -> None:
    dataset = read_dataset(contents)
    names = ["manifest.json", *(split.filename for split in dataset.splits)]
    missing = [name for name in names if not contents.has(f"dataset/{name}")]
    if missing:
        raise InvalidInputError(
            f"The bundle does not contain the rows: dataset/{missing[0]} is missing.",
            next_step="Request a bundle that was packed with its dataset.",
        )
    folder = datasets_dir / dataset.dataset_key
    folder.mkdir(parents=True)
    for name in names:
        copy_out(contents.bundle, f"dataset/{name}", folder / name)


def _device(chosen: str) -> DeviceName:
    """The kind of a recorded device: `gpu: 1 x NVIDIA H200 …` -> gpu."""
    kind = chosen.partition(":")[0]
    return next((name for name in get_args(DeviceName) if name == kind), "auto")
