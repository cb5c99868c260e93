"""Whatever a step of the torch engine draws or keeps, a resumed run ends as an unbroken one, to the bit."""

import pytest
from support.training import Workshop, make_workshop

ONLY_STEPS = ("eval.every_steps=null", "eval.max_batches=null", "output.save_every_steps=null")


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    root = tmp_path_factory.mktemp("workshop")
    return make_workshop(root, root / "compiled", "torch")


@pytest.mark.parametrize(
    "sets",
    [
        ("training.mode=lora", "lora.rank=4", "lora.dropout=0.2"),
        ("training.precision.weights=bfloat16", "training.precision.stochastic_rounding=true"),
        ("training.precision.optimizer_state=bfloat16", "training.gradient_accumulation_steps=2"),
        ("training.optimizer=adafactor", "training.precision.compute=bfloat16"),
    ],
    ids=["dropout", "stochastic-rounding", "bfloat16-moments", "adafactor"],
)
def test_whatever_a_step_draws_or_keeps_goes_on_exactly(
    workshop: Workshop, request: pytest.FixtureRequest, sets: tuple[str, ...]
) -> None:
    resumed, unbroken = f"resumed-{request.node.name}", f"unbroken-{request.node.name}"
    short = (*sets, *ONLY_STEPS)
    workshop.train(resumed, *short, "training.num_steps=2")
    workshop.train(resumed, *short, "training.num_steps=4", resume_from="latest")
    workshop.train(unbroken, *short, "training.num_steps=4")
    assert exported(workshop, resumed) == exported(workshop, unbroken)
    assert workshop.metrics(resumed) == workshop.metrics(unbroken)


def exported(workshop: Workshop, output: str) -> bytes:
    [weights] = (workshop.root / output / "model").glob("*.safetensors")
    return weights.read_bytes()
