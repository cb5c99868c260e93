"""Which engine `--engine auto` takes on which machine, and what it says about it."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from tunix_rt.base.errors import MissingExtraError
from tunix_rt.engines.select import EXTRAS, Machine, choose_engine, this_machine

ROOT = Path(__file__).parents[3]
LAPTOP = Machine(
    has_jax=True,
    has_torch=True,
    has_tpu=False,
    has_nvidia_gpu=False,
    has_jax_cuda=False,
    torch_cuda=None,
)
WITH_GPU = replace(LAPTOP, has_nvidia_gpu=True, torch_cuda="13.0")


def test_an_engine_that_is_asked_for_is_taken() -> None:
    assert str(choose_engine("torch", "auto", LAPTOP)) == "engine torch: --engine torch"


def test_torch_is_taken_for_a_gpu_that_jax_has_no_plugin_for() -> None:
    choice = choose_engine("auto", "auto", WITH_GPU)
    assert str(choice) == (
        "engine torch: an NVIDIA GPU was found; torch is built for CUDA 13.0, and JAX has no CUDA plugin"
    )


def test_jax_is_taken_for_a_gpu_that_it_has_a_plugin_for() -> None:
    assert choose_engine("auto", "gpu", replace(WITH_GPU, has_jax_cuda=True)).name == "jax"


def test_a_gpu_that_nothing_is_built_for_is_said_so() -> None:
    choice = choose_engine("auto", "auto", replace(WITH_GPU, torch_cuda=None))
    assert "neither JAX nor torch is built for it" in choice.reason


@pytest.mark.parametrize("machine", [LAPTOP, WITH_GPU])
def test_jax_is_taken_for_the_cpu(machine: Machine) -> None:
    assert choose_engine("auto", "cpu", machine).name == "jax"


def test_jax_is_taken_where_a_tpu_is_here() -> None:
    assert choose_engine("auto", "auto", replace(WITH_GPU, has_tpu=True)).name == "jax"


def test_a_run_goes_on_with_its_own_engine() -> None:
    assert choose_engine("auto", "cpu", LAPTOP, resumed="torch").name == "torch"


@pytest.mark.parametrize("name", ["jax", "torch"])
def test_the_only_installed_engine_is_taken(name: str) -> None:
    alone = replace(LAPTOP, has_jax=name == "jax", has_torch=name == "torch")
    choice = choose_engine("auto", "auto", alone)
    assert choice.name == name
    assert choice.reason == "the only installed engine"


@pytest.mark.parametrize(("asked", "device", "extra"), [("torch", "auto", "torch"), ("auto", "tpu", "jax")])
def test_an_engine_that_is_not_installed_names_its_extra(asked: str, device: str, extra: str) -> None:
    bare = replace(LAPTOP, has_jax=False, has_torch=False)
    with pytest.raises(MissingExtraError, match=rf"pip install 'tunix-rt\[{extra}\]'"):
        choose_engine(asked, device, bare)  # type: ignore[arg-type]


def test_this_machine_is_read_without_loading_an_accelerator_library() -> None:
    machine = this_machine()
    assert machine.has_jax
    assert machine.has_torch


def test_the_packages_of_extras_are_those_of_the_project_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    requirements = project["project"]["optional-dependencies"]
    for extra, packages in EXTRAS.items():
        wanted = " ".join(requirements[extra])
        for package in packages:
            assert package in wanted or extra in ("cuda", "tpu-plan"), (extra, package)
