"""Which engine runs: the one that was asked for, or one that suits the machine, with the reason.

A pure decision: `engines.installed` reads the machine.
"""

from dataclasses import dataclass
from typing import Literal

from tunix_rt.base.errors import MissingExtraError
from tunix_rt.engines.base import DeviceName, EngineName
from tunix_rt.engines.installed import Machine

AskedEngine = Literal["auto", "jax", "torch"]


@dataclass(frozen=True)
class EngineChoice:
    """An engine, and why it is this one."""

    name: EngineName
    reason: str

    def __str__(self) -> str:
        return f"engine {self.name}: {self.reason}"


def choose_engine(
    asked: AskedEngine,
    device: DeviceName,
    machine: Machine,
    *,
    resumed: EngineName | None = None,
    is_torchrun: bool = False,
) -> EngineChoice:
    """Decide; the first rule that applies wins.

    Args:
        asked: What the command line says.
        device: The device that it says.
        machine: What is installed, and which devices are there.
        resumed: The engine of the run that goes on: only that one reads its checkpoints.
        is_torchrun: Whether torchrun started this process.

    Raises:
        MissingExtraError: The engine that must run is not installed.

    Example:
        auto on a machine with an NVIDIA GPU where JAX has no CUDA plugin -> torch
    """
    if is_torchrun and asked == "auto" and resumed is None:
        choice = EngineChoice("torch", "torchrun started this process")
    else:
        choice = _choice(asked, device, machine, resumed)
    if not machine.has(choice.name):
        raise MissingExtraError(f"The {_TITLES[choice.name]} engine", extra=choice.name)
    return choice


_TITLES: dict[EngineName, str] = {"jax": "JAX", "torch": "PyTorch"}


def _choice(
    asked: AskedEngine, device: DeviceName, machine: Machine, resumed: EngineName | None
) -> EngineChoice:
    if asked != "auto":
        return EngineChoice(asked, f"--engine {asked}")
    if resumed is not None:
        return EngineChoice(resumed, "the run that goes on was made with it")
    if device == "tpu":
        return EngineChoice("jax", "only it runs on a TPU")
    if machine.has_jax and not machine.has_torch:
        return EngineChoice("jax", "the only one that is installed")
    if machine.has_torch and not machine.has_jax:
        return EngineChoice("torch", "the only one that is installed")
    return _for_accelerator(device, machine)


def _for_accelerator(device: DeviceName, machine: Machine) -> EngineChoice:
    if device == "cpu":
        return EngineChoice("jax", "on a CPU it compiles the step, and torch does not")
    if machine.has_tpu and device == "auto":
        return EngineChoice("jax", "a TPU is here, and only JAX runs on it")
    if not machine.has_nvidia_gpu:
        return EngineChoice("jax", "no accelerator is here; on a CPU it compiles the step")
    if machine.has_jax_cuda:
        return EngineChoice("jax", "an NVIDIA GPU is here, and JAX has its CUDA plugin")
    if machine.torch_cuda is not None:
        built = f"torch is built for CUDA {machine.torch_cuda}"
        return EngineChoice("torch", f"an NVIDIA GPU is here; {built}, and JAX has no CUDA plugin")
    return EngineChoice("jax", "neither JAX nor torch is built for the NVIDIA GPU that is here")
