"""When layers are compiled, and that compiling does not change the numbers."""

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


def choose_on_gpu(recipe: Recipe, **setting: Any) -> Compiling:
    return choose_compiling(recipe, GPU, **{"num_steps": 1000, "finds_triton": lambda: True, **setting})


def test_cpu_does_not_compile() -> None:
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
def test_gpu_compiles_supported_recipes(
    sections: dict[str, Any],
    training: dict[str, Any],
    num_processes: int,
    reason: str,
) -> None:
    choice = choose_on_gpu(tiny_recipe(sections, **training), num_processes=num_processes)
    assert choice.is_on == (reason == "it fuses")
    assert reason in str(choice)


def test_short_run_does_not_compile() -> None:
    assert not choose_on_gpu(tiny_recipe(), num_steps=20).is_on


def test_missing_triton_disables_compiling() -> None:
    assert "Triton is not installed" in str(choose_on_gpu(tiny_recipe(), finds_triton=lambda: False))


# The compiler reads `.grad` of every tensor that it traces.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize("remat", ["none", "block"])
def test_compiled_layers_match_plain(remat: Remat) -> None:
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
