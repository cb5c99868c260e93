"""End-to-end evaluations with the torch engine: parity with JAX, resuming, the command."""

import json
from pathlib import Path

import pytest
from support.evaluating import (
    GREEDY,
    SAMPLED,
    CountingEngine,
    EvaluationWorkspace,
    Interrupting,
    make_evaluation_workspace,
)
from support.training import TrainingWorkspace, workspace_fixture
from typer.testing import CliRunner

from tunix_rt.base.errors import ConflictError
from tunix_rt.cli.main import app

workspace = workspace_fixture("torch")


@pytest.fixture(scope="module")
def env(workspace: TrainingWorkspace) -> EvaluationWorkspace:
    """A model trained by the torch engine, and an eval set of sums."""
    workspace.train("runs/trained")
    return make_evaluation_workspace(workspace)


@pytest.fixture(scope="module")
def run(env: EvaluationWorkspace) -> Path:
    return env.workspace.root / "runs" / "trained"


def test_engines_write_identical_predictions(env: EvaluationWorkspace, run: Path) -> None:
    of_torch = env.evaluate(run, "of-torch", engine=CountingEngine("torch"))
    of_jax = env.evaluate(run, "of-jax", engine=CountingEngine("jax"))
    assert env.predictions("of-torch") == env.predictions("of-jax")
    assert of_torch.fingerprint == of_jax.fingerprint
    assert (of_torch.model, of_torch.scores) == (of_jax.model, of_jax.scores)
    assert of_torch.generation is not None
    assert (of_torch.generation.engine, of_torch.generation.precision) == ("torch", "float32")


def test_resumed_evaluation_equals_uninterrupted(env: EvaluationWorkspace, run: Path) -> None:
    env.evaluate(run, "uninterrupted", decoding=SAMPLED, engine=CountingEngine("torch"))
    with pytest.raises(KeyboardInterrupt):
        env.evaluate(
            run, "interrupted", decoding=SAMPLED, view=Interrupting(after=2), engine=CountingEngine("torch")
        )
    kept = set(env.directory("interrupted").read_generations())
    assert kept
    engine = CountingEngine("torch")
    env.evaluate(run, "interrupted", decoding=SAMPLED, engine=engine)
    all_keys = {(f"sum-{n}", sample) for n in range(5) for sample in range(SAMPLED.num_samples)}
    assert set(engine.asked) == all_keys - kept
    assert env.predictions("interrupted") == env.predictions("uninterrupted")


def test_resume_refuses_different_engine(env: EvaluationWorkspace, run: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        env.evaluate(run, "half", view=Interrupting(after=1), engine=CountingEngine("torch"))
    with pytest.raises(ConflictError, match=r"by the torch engine.*Add --engine torch"):
        env.evaluate(run, "half", engine=CountingEngine("jax"))


def test_command_uses_requested_engine(
    env: EvaluationWorkspace, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUNIX_RT_HOME", str(env.settings.home_dir))
    flags = ["--eval-set", str(env.evalset), "--engine", "torch", "--device", "cpu"]
    decoding = ["--max-new-tokens", str(GREEDY.max_new_tokens), "--batch-size", "2"]
    result = CliRunner().invoke(app, ["eval", str(run), *flags, *decoding, "--json"])
    assert result.exit_code == 0, result.output
    assert "engine torch: --engine torch" in result.stderr
    evaluation = json.loads(result.stdout)
    assert evaluation["generation"]["engine"] == "torch"
    assert evaluation["scores"]["overall"]["num_scored"] == 5
