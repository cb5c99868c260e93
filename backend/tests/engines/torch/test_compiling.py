"""When layers are compiled; compiling does not change numbers."""

from typing import Any

import pytest
import torch
from support.programs import random_batch, tiny_recipe
from support.torch_models import CPU
from support.torch_steps import losses, tiny_source, tiny_step, train

from tunix_rt.engines.planning.kernels import Compiling
from tunix_rt.engines.torch.devices import choose_device
from tunix_rt.engines.torch.model.compiled import choose_compiling, compile_layers
from tunix_rt.engines.torch.start import load_decoder
from tunix_rt.engines.torch.training.step import TrainStep
from tunix_rt.engines.types import DeviceRequest
from tunix_rt.recipes.types import Recipe, Remat

GPU = torch.device("cuda")


def on_a_gpu(recipe: Recipe, **setting: Any) -> Compiling:
    return choose_compiling(recipe, GPU, **{"num_steps": 1000, "finds_triton": lambda: True, **setting})


def test_nothing_is_compiled_on_a_cpu() -> None:
    choice = choose_compiling(tiny_recipe(), CPU, num_steps=1000)
    assert str(choice) == "layers are not compiled: kernels of our own do not pay on a cpu"


@pytest.mark.parametrize(
    ("sections", "training", "num_processes", "reason"),
    [
        ({}, {}, 1, "it fuses"),
        ({}, {"remat": "dots"}, 1, "it fuses"),
        ({"lora": {}}, {"mode": "qlora"}, 1, "quantised"),
        ({}, {}, 2, "several processes"),
    ],
)
def test_a_gpu_compiles_what_it_can(
    sections: dict[str, Any],
    training: dict[str, Any],
    num_processes: int,
    reason: str,
) -> None:
    choice = on_a_gpu(tiny_recipe(sections, **training), num_processes=num_processes)
    assert choice.is_on == (reason == "it fuses")
    assert reason in str(choice)


def test_a_short_run_does_not_wait_for_the_compiler() -> None:
    assert not on_a_gpu(tiny_recipe(), num_steps=20).is_on


def test_without_triton_nothing_is_compiled() -> None:
    assert "Triton is not installed" in str(on_a_gpu(tiny_recipe(), finds_triton=lambda: False))


# The compiler looks at the gradient of every tensor that it meets.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize("remat", ["none", "block"])
def test_compiled_layers_train_as_plain_ones_do(remat: Remat) -> None:
    recipe = tiny_recipe(remat=remat)
    plain = tiny_step(recipe)
    decoder = load_decoder(tiny_source(), recipe, choose_device(DeviceRequest("cpu")))
    compile_layers(decoder.layers, recipe, backend="eager")
    compiled = TrainStep(decoder, recipe, 10, CPU)
    assert losses(train(compiled, 2)) == losses(train(plain, 2))
    batch = random_batch(seed=3)
    sums = [float(step.validation_sums(step.put_batch(batch))[0]) for step in (compiled, plain)]
    assert sums[0] == pytest.approx(sums[1], rel=1e-6)
    assert list(compiled.stored_weights()) == list(plain.stored_weights())
