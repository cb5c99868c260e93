"""On what a run runs: versions, machine, driver and the state of the code."""

import os
import platform
from importlib import metadata
from pathlib import Path

from tunix_rt.base.host import usable_cores
from tunix_rt.base.logs import redacted
from tunix_rt.core.run_record import RunEnvironment
from tunix_rt.engines.code_revision import code_sha256, commit, has_changes, installed_packages

_PACKAGES = (
    "accelerate",
    "bitsandbytes",
    "flash-attn",
    "jax",
    "jax-cuda12-plugin",
    "jax-cuda13-plugin",
    "jaxlib",
    "libtpu",
    "liger-kernel",
    "numpy",
    "optax",
    "orbax-checkpoint",
    "peft",
    "pydantic",
    "safetensors",
    "tensorstore",
    "tokenizers",
    "torch",
    "transformers",
    "triton",
    "tunix-rt",
)
_VARIABLES = (
    "XLA_FLAGS",
    "LIBTPU_INIT_ARGS",
    "JAX_",
    "XLA_PYTHON_CLIENT_",
    "PYTORCH_",
    "CUBLAS_WORKSPACE_CONFIG",
    "OMP_NUM_THREADS",
    "CUDA_VISIBLE_DEVICES",
)
_NVIDIA_VERSION = Path("/proc/driver/nvidia/version")


def run_environment(
    engine: str, *, device: str, devices: tuple[str, ...], device_memory_bytes: int | None
) -> RunEnvironment:
    """Everything that may explain a difference between two runs of one recipe."""
    revision = commit()
    return RunEnvironment(
        python=platform.python_version(),
        platform=platform.platform(),
        num_cpus=usable_cores(),
        packages={name: version for name in _PACKAGES if (version := _version(name)) is not None},
        variables={
            name: redacted(value) for name, value in sorted(os.environ.items()) if name.startswith(_VARIABLES)
        },
        engine=engine,
        device=device,
        devices=devices,
        device_memory_bytes=device_memory_bytes,
        driver=nvidia_driver(),
        commit=revision,
        is_dirty=None if revision is None else has_changes(),
        code_sha256=code_sha256(),
        installed=installed_packages(),
    )


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def nvidia_driver() -> str | None:
    """What the driver says about itself; None where there is none."""
    return _NVIDIA_VERSION.read_text().splitlines()[0] if _NVIDIA_VERSION.exists() else None
