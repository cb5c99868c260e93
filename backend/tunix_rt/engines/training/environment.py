"""Versions, driver, commit and code hash of a run."""

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from importlib import metadata
from pathlib import Path

import tunix_rt
from tunix_rt.base.host import usable_cores
from tunix_rt.base.logs import redacted
from tunix_rt.engines.select import installed_version
from tunix_rt.engines.training.types import RunEnvironment

PACKAGE_DIR = Path(tunix_rt.__file__).parent
_GIT_TIMEOUT_S = 10


def code_sha256(package: Path = PACKAGE_DIR) -> str:
    """SHA-256 over the Python files of the package: the same in a checkout and in a wheel."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(package).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def commit(package: Path = PACKAGE_DIR) -> str | None:
    """The commit of the checkout that the code runs from; None outside a checkout."""
    output = git(package, "rev-parse", "HEAD")
    return None if output is None else output.strip()


def code_diff(package: Path = PACKAGE_DIR) -> str | None:
    """The uncommitted changes of the package's files, new files included; None outside a checkout.

    Git's own index stays untouched: new files are added to a copy of it.
    """
    with tempfile.TemporaryDirectory(prefix="tunix-rt-") as folder:
        index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        if git(package, "read-tree", "HEAD", **index) is None:
            return None
        git(package, "add", "--intent-to-add", "--", ".", **index)
        diff = git(package, "diff", "HEAD", "--no-color", "--no-ext-diff", "--binary", "--", ".", **index)
    return None if diff is None else redacted(diff)


def installed_packages() -> dict[str, str]:
    """Every installed distribution with its version, by name: what a lock file lists."""
    # Each access to `metadata` or `version` parses the file again.
    parsed = [distribution.metadata for distribution in metadata.distributions()]
    versions = {fields["Name"]: fields["Version"] for fields in parsed}
    return dict(sorted(versions.items(), key=lambda pair: pair[0].lower()))


def has_changes(package: Path = PACKAGE_DIR) -> bool:
    """Whether the checkout has uncommitted changes."""
    return bool(git(package, "status", "--porcelain"))


def git(directory: Path, *arguments: str, **variables: str) -> str | None:
    """The output of a git command in this directory; None without git or outside a checkout."""
    if shutil.which("git") is None:
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(directory), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_GIT_TIMEOUT_S,
            env={**os.environ, **variables},
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None


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
    """Collect everything that may explain a difference between two runs of one recipe."""
    revision = commit()
    return RunEnvironment(
        python=platform.python_version(),
        platform=platform.platform(),
        num_cpus=usable_cores(),
        packages={name: version for name in _PACKAGES if (version := installed_version(name)) is not None},
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


def nvidia_driver() -> str | None:
    """The version line of the NVIDIA driver; None where there is none."""
    return _NVIDIA_VERSION.read_text().splitlines()[0] if _NVIDIA_VERSION.exists() else None
