"""A resumed run is bit-equal to an uninterrupted one, for every kind of random number and optimizer state."""

import shutil
from pathlib import Path

import pytest
from support.training import TrainingWorkspace

from tunix_rt.base.errors import InvalidInputError

ONLY_STEPS = (
    "eval.every_steps=null",
    "eval.max_batches=null",
    "output.save_every_steps=2",
)
CASES = {
    "adapters": ("training.mode=qlora", "quantization.format=int8", "lora.rank=4", "lora.dropout=0.2"),
    "rounding-and-moments": (
        "training.precision.weights=bfloat16",
        "training.precision.stochastic_rounding=true",
        "training.precision.optimizer_state=bfloat16",
        "training.gradient_accumulation_steps=2",
    ),
    "adafactor": ("training.optimizer=adafactor", "training.precision.compute=bfloat16"),
}


@pytest.mark.parametrize("case", CASES)
def test_resume_is_bit_equal(workspace: TrainingWorkspace, case: str) -> None:
    resumed, uninterrupted = f"resumed-{case}", f"uninterrupted-{case}"
    short = (*CASES[case], *ONLY_STEPS, "training.num_steps=4")
    workspace.train(uninterrupted, *short)
    run = Path(shutil.copytree(workspace.root / uninterrupted, workspace.root / resumed))
    shutil.rmtree(run / "model")
    shutil.rmtree(run / "checkpoints" / "4")
    workspace.train(resumed, *short, resume_from="latest")
    assert [event["details"] for event in workspace.events(resumed, "resumed")] == [{"step": 2}]
    assert exported_weights(workspace, resumed) == exported_weights(workspace, uninterrupted)
    assert workspace.metrics(resumed) == workspace.metrics(uninterrupted)


def test_glob_path_is_rejected_or_resumed(workspace: TrainingWorkspace) -> None:
    name = "run[1]"
    if workspace.engine == "jax":
        with pytest.raises(InvalidInputError, match=r"\*, \? or \["):
            workspace.train(name, *ONLY_STEPS, "training.num_steps=2")
        return
    workspace.train(name, *ONLY_STEPS, "training.num_steps=2")
    workspace.train(name, *ONLY_STEPS, "training.num_steps=4", resume_from="latest")
    assert workspace.manifest(name)["status"] == "succeeded"


def exported_weights(workspace: TrainingWorkspace, output: str) -> bytes:
    [weights] = (workspace.root / output / "model").glob("*.safetensors")
    return weights.read_bytes()
