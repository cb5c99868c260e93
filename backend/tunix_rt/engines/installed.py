"""What is installed and which devices show a sign of life, told without loading an accelerator library.

Loading one can take seconds, hang on a broken driver, or take the device away from another process.
"""

import importlib.util
import runpy
import shutil
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from tunix_rt.engines.base import EngineName

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
"""The packages that show that an extra of this package is installed."""

_JAX_CUDA_PLUGINS = ("jax-cuda12-plugin", "jax-cuda13-plugin")


@dataclass(frozen=True)
class Machine:
    """What an engine is chosen by."""

    has_jax: bool
    has_torch: bool
    has_tpu: bool
    has_nvidia_gpu: bool
    has_jax_cuda: bool
    """Whether JAX has a plugin for CUDA."""
    torch_cuda: str | None
    """The version of CUDA that torch is built for; None: it is built without."""

    def has(self, engine: EngineName) -> bool:
        """Whether the engine is installed."""
        return self.has_jax if engine == "jax" else self.has_torch


def this_machine() -> Machine:
    """Read the signs of this machine."""
    return Machine(
        has_jax=is_extra_installed("jax"),
        has_torch=is_extra_installed("torch"),
        has_tpu=has_tpu(),
        has_nvidia_gpu=has_nvidia_gpu(),
        has_jax_cuda=any(map(installed_version, _JAX_CUDA_PLUGINS)),
        torch_cuda=torch_cuda_version(),
    )


def is_extra_installed(extra: str) -> bool:
    """Whether every package of an extra is there."""
    return all(map(installed_version, EXTRAS[extra]))


def installed_version(package: str) -> str | None:
    """The version of an installed package; None: it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def has_tpu() -> bool:
    """Whether this machine has the device file of a TPU."""
    return any(Path("/dev").glob("accel[0-9]*")) or any(Path("/dev/vfio").glob("[0-9]*"))


def has_nvidia_gpu() -> bool:
    """Whether an NVIDIA driver is here: by its device file or, where there are no such files, its program."""
    return Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi") is not None


def torch_cuda_version() -> str | None:
    """The version of CUDA that the installed torch is built for, read from its file of constants."""
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        return None
    constants = Path(found.origin).with_name("version.py")
    version = runpy.run_path(str(constants)).get("cuda") if constants.is_file() else None
    return None if version is None else str(version)
