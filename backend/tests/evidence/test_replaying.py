"""Replaying the first training steps of a bundle and comparing the logged losses."""

from pathlib import Path

import pytest
from support.evidence_runs import LOSSES, SilentView, WritingEngine, packed

from tunix_rt.engines.training.job import TrainingJob
from tunix_rt.engines.training.records import View
from tunix_rt.engines.training.run import run
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.evidence.replay import Replay
from tunix_rt.evidence.types import Check
from tunix_rt.evidence.verify import verify_evidence


class Trainer:
    """A trainer that uses a given engine and records its jobs."""

    def __init__(self, engine: WritingEngine) -> None:
        self.engine = engine
        self.jobs: list[TrainingJob] = []

    def __call__(self, engine: str, job: TrainingJob, view: View) -> RunManifest:
        assert engine == "fake"
        self.jobs.append(job)
        return run(self.engine, job, view)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("replay")
    return packed(root / "home", root / "bundle", is_zip=True)


def replay_check(bundle: Path, trainer: Trainer, num_steps: int = 2) -> Check:
    return verify_evidence(bundle, replay=Replay(num_steps, trainer, SilentView())).checks[-1]


def test_equal_losses_pass(bundle: Path) -> None:
    trainer = Trainer(WritingEngine())

    check = replay_check(bundle, trainer)

    assert check.status == "passed"
    assert check.detail.startswith("2 steps trained again, 2 of them logged and compared; largest difference")
    assert trainer.jobs[0].data.name == "demo-v1"
    assert not trainer.jobs[0].run_dir.path.exists()


def test_different_loss_is_named(bundle: Path) -> None:
    check = replay_check(bundle, Trainer(WritingEngine(losses=(LOSSES[0], 2.5, 1.0))))

    assert [problem.detail for problem in check.problems] == ["step 2 has loss 2.0; trained again 2.5"]


def test_different_batch_is_named(bundle: Path) -> None:
    check = replay_check(bundle, Trainer(WritingEngine(seed=1)), num_steps=1)

    assert [problem.detail for problem in check.problems] == ["step 1 was trained on another batch"]


def test_failed_training_fails_the_check(bundle: Path) -> None:
    check = replay_check(bundle, Trainer(WritingEngine(fails=True)), num_steps=9)

    assert check.status == "failed"
    assert check.problems[0].detail == "The loss is no longer a number."


def test_replay_requires_dataset_rows(tmp_path: Path) -> None:
    bundle = packed(tmp_path / "home", tmp_path / "bundle", has_dataset=False)

    check = replay_check(bundle, Trainer(WritingEngine()))

    assert check.problems[0].detail == "The bundle does not contain the rows: dataset/train.jsonl is missing."
