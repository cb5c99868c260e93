"""What is installed, which engine `auto` selects and why, and whether its devices work.

`choose_engine` is a pure decision about a `Machine`. Devices are probed in a child process: opening one can
take seconds, hang on a broken driver, or take the device away from another process.
"""

import importlib.util
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal, cast

from pydantic import ValidationError

from tunix_rt.base.errors import MissingExtraError, TunixRTError
from tunix_rt.base.records import Record
from tunix_rt.engines.types import DeviceName, DeviceReport, DoctorProblem, EngineName, Platform

EXTRAS: dict[str, tuple[str, ...]] = {
    "jax": ("jax", "optax", "orbax-checkpoint", "safetensors"),
    "torch": ("torch", "transformers", "peft", "accelerate", "safetensors"),
    "torch-qlora": ("bitsandbytes",),
    "cuda": ("jax-cuda13-plugin",),
    "tpu-plan": ("libtpu",),
    "gpu-plan": ("jax-cuda12-plugin", "nvidia-cuda-nvcc-cu12"),
    "kaggle": ("kagglehub", "kaggle"),
    "gym": ("reasoning-gym",),
    "math": ("math-verify",),
    "parquet": ("pyarrow",),
    "tune": ("optuna",),
    "ray": ("ray", "fsspec"),
}
"""The packages of each extra: all of them installed means that the extra is."""

_JAX_CUDA_PLUGINS = ("jax-cuda12-plugin", "jax-cuda13-plugin")


@dataclass(frozen=True)
class Machine:
    """The facts that the choice of an engine depends on."""

    has_jax: bool
    has_torch: bool
    has_tpu: bool
    has_nvidia_gpu: bool
    has_jax_cuda: bool
    """Whether JAX has its CUDA plugin."""
    torch_cuda: str | None
    """The CUDA version that torch is built for; None for a build without CUDA."""

    def has(self, engine: EngineName) -> bool:
        """Whether the engine is installed."""
        return self.has_jax if engine == "jax" else self.has_torch


def this_machine() -> Machine:
    """Inspect this machine, without importing an engine."""
    return Machine(
        has_jax=is_extra_installed("jax"),
        has_torch=is_extra_installed("torch"),
        has_tpu=has_tpu(),
        has_nvidia_gpu=has_nvidia_gpu(),
        has_jax_cuda=any(map(installed_version, _JAX_CUDA_PLUGINS)),
        torch_cuda=torch_cuda_version(),
    )


def is_extra_installed(extra: str) -> bool:
    """Whether every package of an extra is installed."""
    return all(map(installed_version, EXTRAS[extra]))


def installed_version(package: str) -> str | None:
    """The version of an installed package; None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def has_tpu() -> bool:
    """Whether this machine has the device file of a TPU."""
    return any(Path("/dev").glob("accel[0-9]*")) or any(Path("/dev/vfio").glob("[0-9]*"))


def has_nvidia_gpu() -> bool:
    """Whether there is an NVIDIA driver: its device file or, where there are none, `nvidia-smi`."""
    return Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi") is not None


def torch_cuda_version() -> str | None:
    """The CUDA version of the installed torch, read from its version file."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    constants = Path(spec.origin).with_name("version.py")
    version = runpy.run_path(str(constants)).get("cuda") if constants.is_file() else None
    return None if version is None else str(version)


RequestedEngine = Literal["auto", "jax", "torch"]


@dataclass(frozen=True)
class EngineChoice:
    """An engine, and why it was chosen."""

    name: EngineName
    reason: str

    def __str__(self) -> str:
        return f"engine {self.name}: {self.reason}"


def choose_engine(
    requested: RequestedEngine,
    device: DeviceName,
    machine: Machine,
    *,
    resumed: EngineName | None = None,
    is_torchrun: bool = False,
) -> EngineChoice:
    """Choose an engine; the first rule that applies wins.

    Args:
        requested: The requested engine, or `auto`.
        device: The requested device.
        machine: What is installed, and which devices are present.
        resumed: The engine of the run to resume: only that one can read its checkpoints.
        is_torchrun: Whether torchrun started this process.

    Raises:
        MissingExtraError: The chosen engine is not installed.

    Example:
        auto on a machine with an NVIDIA GPU where JAX has no CUDA plugin -> torch
    """
    choice = EngineChoice(*_first_rule(requested, device, machine, resumed, is_torchrun))
    if not machine.has(choice.name):
        title = "JAX" if choice.name == "jax" else "PyTorch"
        raise MissingExtraError(f"The {title} engine", extra=choice.name)
    return choice


def _first_rule(
    requested: RequestedEngine,
    device: DeviceName,
    machine: Machine,
    resumed: EngineName | None,
    is_torchrun: bool,
) -> tuple[EngineName, str]:
    if requested != "auto":
        return requested, f"--engine {requested}"
    if resumed is not None:
        return resumed, "the resumed run was started with it"
    if is_torchrun:
        return "torch", "torchrun started this process"
    if device == "tpu":
        return "jax", "only JAX runs on a TPU"
    if machine.has_jax != machine.has_torch:
        return "jax" if machine.has_jax else "torch", "the only installed engine"
    if device == "cpu":
        return "jax", "on a CPU, JAX compiles the step and torch does not"
    if machine.has_tpu and device == "auto":
        return "jax", "a TPU was found, and only JAX runs on it"
    if not machine.has_nvidia_gpu:
        return "jax", "no accelerator was found; on a CPU, JAX compiles the step"
    if machine.has_jax_cuda:
        return "jax", "an NVIDIA GPU was found, and JAX has its CUDA plugin"
    if machine.torch_cuda is not None:
        built = f"torch is built for CUDA {machine.torch_cuda}"
        return "torch", f"an NVIDIA GPU was found; {built}, and JAX has no CUDA plugin"
    return "jax", "an NVIDIA GPU was found, but neither JAX nor torch is built for it"


PROBE_TIMEOUT_S = 120.0
_SHOWN_CHARS = 500
# A probe must not take memory from a training run on the same GPU.
_PROBE_VARIABLES = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


class ProbeAnswer(Record):
    """The last line of a probe's output."""

    device: DeviceReport | None = None
    problem: DoctorProblem | None = None


def probe(engine: EngineName, platform: Platform, *, timeout_s: float = PROBE_TIMEOUT_S) -> ProbeAnswer:
    """Let the engine open the devices of a platform in a child process. Failures become the answer."""
    command = [sys.executable, "-m", f"tunix_rt.engines.{engine}.probe", platform]
    what = f"The {engine} engine on the {platform.upper()}"
    try:
        done = subprocess.run(
            command,
            env=os.environ | _PROBE_VARIABLES,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired:
        return _broken(f"{what} did not answer within {timeout_s:.0f} s.")
    *_, last_line = done.stdout.splitlines() or [""]
    try:
        return ProbeAnswer.model_validate_json(last_line)
    except ValidationError:
        output = (done.stderr or done.stdout).strip()[-_SHOWN_CHARS:] or "no output"
        return _broken(f"{what} exited with code {done.returncode}: {output}")


def answer_probe(open_device: Callable[[Platform], DeviceReport]) -> None:
    """Run in the child: open the devices of the platform in its argument, and print the answer."""
    platform = cast(Platform, sys.argv[1])
    try:
        answer = ProbeAnswer(device=open_device(platform))
    except TunixRTError as error:
        answer = ProbeAnswer(problem=DoctorProblem(detail=error.detail, next_step=error.next_step))
    sys.stdout.write(answer.model_dump_json(exclude_none=True) + "\n")


def _broken(detail: str) -> ProbeAnswer:
    next_step = "Check the driver (nvidia-smi), then reinstall the engine's extra."
    return ProbeAnswer(problem=DoctorProblem(detail=detail, next_step=next_step))


ENGINES: tuple[EngineName, ...] = ("jax", "torch")


def platforms(engine: EngineName, machine: Machine) -> Iterator[Platform]:
    """The platforms that an installed engine could run on, without opening a device."""
    if not machine.has(engine):
        return
    is_built_for_gpu = machine.has_jax_cuda if engine == "jax" else machine.torch_cuda is not None
    if engine == "jax" and machine.has_tpu and installed_version("libtpu"):
        yield "tpu"
    if machine.has_nvidia_gpu and is_built_for_gpu:
        yield "gpu"
    yield "cpu"
