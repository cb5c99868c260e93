"""Evaluations with the torch engine end to end: the texts of the JAX engine, resuming, the command."""

import json
from pathlib import Path

import pytest
from support.evaluating import GREEDY, SAMPLED, CountingEngine, Exam, Interrupting, make_exam
from support.training import make_workshop, workshop_fixture
from typer.testing import CliRunner

from tunix_rt.base.errors import ConflictError
from tunix_rt.cli.main import app

workshop = workshop_fixture("torch")


@pytest.fixture(scope="module")
def exam(tmp_path_factory: pytest.TempPathFactory) -> Exam:
    """A model that the torch engine has trained, and sums to ask it."""
    root = tmp_path_factory.mktemp("workshop")
    workshop = make_workshop(root, "torch")
    workshop.train("runs/trained")
    return make_exam(workshop)


@pytest.fixture(scope="module")
def run(exam: Exam) -> Path:
    return exam.workshop.root / "runs" / "trained"


def test_engines_write_identical_predictions(exam: Exam, run: Path) -> None:
    of_torch = exam.evaluate(run, "of-torch", engine=CountingEngine("torch"))
    of_jax = exam.evaluate(run, "of-jax", engine=CountingEngine("jax"))
    assert exam.predictions("of-torch") == exam.predictions("of-jax")
    assert of_torch.fingerprint == of_jax.fingerprint
    assert (of_torch.model, of_torch.scores) == (of_jax.model, of_jax.scores)
    assert of_torch.generation is not None
    assert (of_torch.generation.engine, of_torch.generation.precision) == ("torch", "float32")


def test_resumed_evaluation_equals_uninterrupted(exam: Exam, run: Path) -> None:
    exam.evaluate(run, "unbroken", decoding=SAMPLED, engine=CountingEngine("torch"))
    with pytest.raises(KeyboardInterrupt):
        exam.evaluate(
            run, "broken", decoding=SAMPLED, view=Interrupting(after=2), engine=CountingEngine("torch")
        )
    kept = set(exam.directory("broken").read_generations())
    assert kept
    engine = CountingEngine("torch")
    exam.evaluate(run, "broken", decoding=SAMPLED, engine=engine)
    everything = {(f"sum-{n}", sample) for n in range(5) for sample in range(SAMPLED.num_samples)}
    assert set(engine.asked) == everything - kept
    assert exam.predictions("broken") == exam.predictions("unbroken")


def test_resume_refuses_different_engine(exam: Exam, run: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        exam.evaluate(run, "half", view=Interrupting(after=1), engine=CountingEngine("torch"))
    with pytest.raises(ConflictError, match=r"by the torch engine.*Add --engine torch"):
        exam.evaluate(run, "half", engine=CountingEngine("jax"))


def test_command_uses_requested_engine(exam: Exam, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNIX_RT_HOME", str(exam.settings.home_dir))
    flags = ["--eval-set", str(exam.evalset), "--engine", "torch", "--device", "cpu"]
    decoding = ["--max-new-tokens", str(GREEDY.max_new_tokens), "--batch-size", "2"]
    done = CliRunner().invoke(app, ["eval", str(run), *flags, *decoding, "--json"])
    assert done.exit_code == 0, done.output
    assert "engine torch: --engine torch" in done.stderr
    evaluation = json.loads(done.stdout)
    assert evaluation["generation"]["engine"] == "torch"
    assert evaluation["scores"]["overall"]["num_scored"] == 5
