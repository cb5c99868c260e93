"""Engine selection by `--engine auto` on each kind of machine, and the reason it prints."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from tunix_rt.base.errors import MissingExtraError
from tunix_rt.engines.select import EXTRAS, Machine, choose_engine, this_machine
from tunix_rt.engines.types import DeviceName

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


def test_explicit_engine_wins() -> None:
    assert str(choose_engine("torch", "auto", LAPTOP)) == "engine torch: --engine torch"


def test_gpu_without_jax_plugin_uses_torch() -> None:
    choice = choose_engine("auto", "auto", WITH_GPU)
    assert str(choice) == (
        "engine torch: an NVIDIA GPU was found; torch is built for CUDA 13.0, and JAX has no CUDA plugin"
    )


def test_unusable_gpu_is_reported() -> None:
    choice = choose_engine("auto", "auto", replace(WITH_GPU, torch_cuda=None))
    assert "neither JAX nor torch is built for it" in choice.reason


@pytest.mark.parametrize(
    ("device", "machine"),
    [
        pytest.param("cpu", LAPTOP, id="cpu"),
        pytest.param("cpu", WITH_GPU, id="cpu-beside-gpu"),
        pytest.param("gpu", replace(WITH_GPU, has_jax_cuda=True), id="gpu-with-plugin"),
        pytest.param("auto", replace(WITH_GPU, has_tpu=True), id="tpu"),
    ],
)
def test_auto_prefers_jax(device: DeviceName, machine: Machine) -> None:
    assert choose_engine("auto", device, machine).name == "jax"


def test_resumed_run_keeps_its_engine() -> None:
    assert choose_engine("auto", "cpu", LAPTOP, resumed="torch").name == "torch"


@pytest.mark.parametrize("name", ["jax", "torch"])
def test_only_installed_engine_is_used(name: str) -> None:
    single_engine = replace(LAPTOP, has_jax=name == "jax", has_torch=name == "torch")
    choice = choose_engine("auto", "auto", single_engine)
    assert choice.name == name
    assert choice.reason == "the only installed engine"


@pytest.mark.parametrize(("engine", "device", "extra"), [("torch", "auto", "torch"), ("auto", "tpu", "jax")])
def test_missing_engine_names_its_extra(engine: str, device: str, extra: str) -> None:
    no_engines = replace(LAPTOP, has_jax=False, has_torch=False)
    with pytest.raises(MissingExtraError, match=rf"pip install 'tunix-rt\[{extra}\]'"):
        choose_engine(engine, device, no_engines)  # type: ignore[arg-type]


def test_machine_lists_installed_engines() -> None:
    machine = this_machine()
    assert machine.has_jax
    assert machine.has_torch


def test_extras_match_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    requirements = project["project"]["optional-dependencies"]
    for extra, packages in EXTRAS.items():
        required = " ".join(requirements[extra])
        for package in packages:
            assert package in required or extra in ("cuda", "tpu-plan"), (extra, package)
