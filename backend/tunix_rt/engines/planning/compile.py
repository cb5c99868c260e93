"""Ahead-of-time compilation in a child process, its cache, its figures by component."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from tunix_rt.base.errors import InvalidInputError, MissingExtraError, TunixRTError
from tunix_rt.base.files.atomic import write_json_atomically
from tunix_rt.base.records import Record
from tunix_rt.engines.planning.targets import LOCAL, Target
from tunix_rt.engines.planning.types import Component
from tunix_rt.engines.types import Platform
from tunix_rt.recipes.types import Recipe

REFUSED = 3
"""Exit code of a child that answers with a `Refusal`."""


class TopologyRequest(Record):
    """Devices that are not present, as the arguments of `jax.experimental.topologies.get_topology_desc`."""

    platform: Literal["tpu", "cuda"]
    name: str
    options: dict[str, Any]


class CompileRequest(Record):
    """The train step to compile."""

    recipe: Recipe
    architecture_config: dict[str, Any]
    """The content of the model's config.json."""
    platform: Platform
    num_devices: int
    topology: TopologyRequest | None
    """None: the devices of this machine."""


class StoredBytes(Record):
    """Bytes per device of the inputs of the step, by tree, from the shardings."""

    weights: int
    optimizer_state: int
    batch: int


class Refusal(Record):
    """Why a recipe cannot be compiled at any memory size, and what to do."""

    detail: str
    next_step: str


class CompiledStep(Record):
    """The compiler's answer, per device."""

    fits: bool
    """Whether the compiler accepted the step. CPU and GPU compilers always do."""
    total_bytes: int
    stored: StoredBytes
    argument_bytes: int | None = None
    """Absent, like the next three, when the step did not fit: the compiler then reports only the total."""
    undonated_bytes: int | None = None
    """Outputs that do not reuse the memory of an argument."""
    temporary_bytes: int | None = None
    program_bytes: int | None = None
    attention: str
    """The kernel and why it was chosen."""
    message: str | None = None
    """The compiler's message when the step did not fit."""
    compile_seconds: float
    compiler: str
    """Versions, e.g. `jax 0.10.2, libtpu 0.0.42.1`."""


_ATTRIBUTED: tuple[Component, ...] = ("gradients", "activations", "logits")


def attributed_components(
    compiled: CompiledStep, estimated: dict[Component, int]
) -> tuple[dict[Component, int], str]:
    """Components that add up to the compiler's total, and a note on how exact each is.

    The compiler reuses memory: a gradient may occupy the memory of an earlier activation. It therefore
    reports temporaries as one number. The component model splits that number; the rest stays `temporaries`.
    """
    stored = compiled.stored
    undonated = compiled.undonated_bytes
    if undonated is None:
        undonated = estimated["undonated_copies"]
    transient = max(0, compiled.total_bytes - stored.weights - stored.optimizer_state - undonated)
    modelled = {name: estimated[name] for name in _ATTRIBUTED}
    scale = min(1.0, transient / max(1, sum(modelled.values())))
    shares = {name: int(size * scale) for name, size in modelled.items()}
    components: dict[Component, int] = {
        "weights": stored.weights,
        "optimizer_state": stored.optimizer_state,
        "undonated_copies": undonated,
        **shares,
        "temporaries": 0,
    }
    components["temporaries"] = compiled.total_bytes - sum(components.values())
    exact = "weights, optimizer state and undonated copies"
    if compiled.undonated_bytes is None:
        exact = "weights and optimizer state"
    return components, f"Exact: the total, {exact}. Gradients, activations and logits are attributed."


_ENGINES_DIR = Path(__file__).parents[1]
_COMPILED_PACKAGES = ("jax", "weights", "planning")
_COMPILERS = ("jax", "jaxlib", "libtpu", "jax-cuda12-plugin", "jax-cuda13-plugin", "optax")
# Keys that the compiled step does not depend on.
_SECTIONS = ("data", "training", "lora", "quantization", "sharding")
_UNRELATED_TRAINING = ("num_steps", "num_epochs", "seed", "learning_rate", "warmup_steps")


def cached_step(plans_dir: Path, request: CompileRequest) -> CompiledStep | None:
    """The cached answer for the same step, code and compiler."""
    try:
        return CompiledStep.model_validate_json(_path(plans_dir, request).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def cache_step(plans_dir: Path, request: CompileRequest, step: CompiledStep) -> None:
    """Cache the compiler's answer."""
    value = step.model_dump(mode="json")
    write_json_atomically(_path(plans_dir, request), value, what="caching a compiled plan")


def compiler_versions() -> str:
    """The installed compilers, e.g. `jax 0.10.2, libtpu 0.0.42.1`."""
    return ", ".join(f"{name} {version}" for name in _COMPILERS if (version := _version(name)))


def _path(plans_dir: Path, request: CompileRequest) -> Path:
    identity = {"request": step_identity(request), "compiler": compiler_versions(), "code": code_hash()}
    text = json.dumps(identity, sort_keys=True)
    return plans_dir / f"{hashlib.sha256(text.encode()).hexdigest()}.json"


def step_identity(request: CompileRequest) -> dict[str, object]:
    """Everything that decides the compiled step: recipes with equal identities compile to the same one."""
    value = request.model_dump(mode="json")
    recipe = {name: value["recipe"][name] for name in _SECTIONS}
    recipe["data"] = {"row_length": recipe["data"]["row_length"]}
    recipe["training"] = {
        name: item for name, item in recipe["training"].items() if name not in _UNRELATED_TRAINING
    }
    return value | {"recipe": recipe}


def code_hash(engines_dir: Path = _ENGINES_DIR) -> str:
    """SHA-256 over every file that can change the compiled step: the JAX engine, weights and planning."""
    files = [
        *engines_dir.glob("*.py"),
        *(file for package in _COMPILED_PACKAGES for file in (engines_dir / package).rglob("*.py")),
    ]
    digest = hashlib.sha256()
    for file in sorted(files):
        path = file.relative_to(engines_dir).as_posix()
        digest.update(path.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


_GPU_PLUGINS = ("jax_plugins.xla_cuda12", "jax_plugins.xla_cuda13")


@dataclass(frozen=True)
class GpuParts:
    """The properties that decide which programs a GPU can run, from NVIDIA's data sheets and guide."""

    num_cores: int
    units_per_core: int
    threads_per_core: int
    shared_bytes_per_core: int
    l2_bytes: int
    clock_ghz: float


_KIB, _MIB = 1024, 1024**2
_GPU_PARTS: Mapping[str, GpuParts] = {
    "t4": GpuParts(40, 64, 1024, 64 * _KIB, 4 * _MIB, 1.59),
    "l4": GpuParts(58, 128, 1536, 100 * _KIB, 48 * _MIB, 2.04),
    "rtx4090": GpuParts(128, 128, 1536, 100 * _KIB, 72 * _MIB, 2.52),
    "rtx5090": GpuParts(170, 128, 1536, 100 * _KIB, 96 * _MIB, 2.41),
    "a100": GpuParts(108, 64, 2048, 164 * _KIB, 40 * _MIB, 1.41),
    "h100": GpuParts(132, 128, 2048, 228 * _KIB, 50 * _MIB, 1.98),
    "h200": GpuParts(132, 128, 2048, 228 * _KIB, 50 * _MIB, 1.98),
}


def require_compiler(target: Target) -> None:
    """Require the packages that compile for the target.

    Raises:
        MissingExtraError: A package is missing.
    """
    if not _is_installed("jax") or not _is_installed("optax"):
        raise MissingExtraError("Compiling a plan", extra="jax")
    if target.platform == "tpu" and not _is_installed("libtpu"):
        raise MissingExtraError("Compiling for an absent TPU", extra="tpu-plan")
    if target.platform == "gpu" and target.name != LOCAL and not any(map(_is_installed, _GPU_PLUGINS)):
        raise MissingExtraError("Compiling for an absent GPU", extra="gpu-plan")


def topology_request(target: Target) -> TopologyRequest | None:
    """The target as the compiler describes it; None for the devices of this machine."""
    if target.topology is not None:
        bounds = list(target.topology.chips_per_host_bounds)
        return TopologyRequest(
            platform="tpu", name=target.topology.name, options={"chips_per_host_bounds": bounds}
        )
    if target.platform != "gpu" or target.name == LOCAL:
        return None
    return TopologyRequest(
        platform="cuda",
        name="",
        options={"target_config": gpu_target_config(target), "topology": f"{target.num_devices}x1x1"},
    )


def gpu_target_config(target: Target) -> str:
    """The card as XLA:GPU reads it: a GpuTargetConfigProto in text form."""
    parts, capability = _GPU_PARTS[target.name], target.compute_capability or (0, 0)
    # A block may use the shared memory of a core, less 1 KiB for the driver; before Ampere, all of it.
    per_block = parts.shared_bytes_per_core - (_KIB if capability >= (8, 0) else 0)
    fields = {
        "threads_per_block_limit": 1024,
        "threads_per_warp": 32,
        "shared_memory_per_block": 48 * _KIB,
        "shared_memory_per_core": parts.shared_bytes_per_core,
        "shared_memory_per_block_optin": per_block,
        "threads_per_core_limit": parts.threads_per_core,
        "core_count": parts.num_cores,
        "fpus_per_core": parts.units_per_core,
        "block_dim_limit_x": 2**31 - 1,
        "block_dim_limit_y": 65_535,
        "block_dim_limit_z": 65_535,
        "memory_bandwidth": int(target.bytes_per_s),
        "l2_cache_size": parts.l2_bytes,
        "clock_rate_ghz": parts.clock_ghz,
        "device_memory_size": target.memory_bytes,
        "registers_per_core_limit": 65_536,
        "registers_per_block_limit": 65_536,
    }
    lines = "\n".join(f"  {name}: {value}" for name, value in fields.items())
    version = f"cuda_compute_capability {{ major: {capability[0]} minor: {capability[1]} }}"
    return f'gpu_device_info {{\n  {version}\n{lines}\n}}\nplatform_name: "CUDA"\n'


def compiler_environment(target: Target) -> dict[str, str]:
    """Variables that must be set before the compiling process imports JAX."""
    request = topology_request(target)
    is_real_gpu = target.platform == "gpu" and request is None
    named = {"JAX_PLATFORMS": "cuda" if is_real_gpu else "cpu"}
    if target.topology is None:
        return named
    return named | {
        "TPU_SKIP_MDS_QUERY": "1",
        "TPU_ACCELERATOR_TYPE": target.topology.accelerator_type,
        "TPU_WORKER_HOSTNAMES": "localhost",
        "TPU_WORKER_ID": "0",
        # Without it, a second concurrent plan aborts on libtpu's lock file.
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    }


def assembler_directory() -> Path | None:
    """The directory of the CUDA wheel with `ptxas`, which XLA:GPU looks up on the PATH; None without it."""
    spec = find_spec("nvidia.cuda_nvcc") if _is_installed("nvidia") else None
    locations = list(spec.submodule_search_locations or []) if spec else []
    return Path(locations[0]) / "bin" if locations else None


def _is_installed(package: str) -> bool:
    parent, _, _ = package.rpartition(".")
    return (not parent or find_spec(parent) is not None) and find_spec(package) is not None


AOT_MODULE = "tunix_rt.engines.jax.aot"
_TICK_S = 0.2
_SHOWN_CHARS = 2_000

OnTick = Callable[[float], None]
"""Called with the seconds since the compiler started."""


def compile_in_child(request: CompileRequest, target: Target, on_tick: OnTick) -> CompiledStep:
    """Run the compiler until it finishes; Ctrl-C ends it too.

    Raises:
        InvalidInputError: The recipe cannot run on this target at any memory size.
        TunixRTError: The compiler crashed, or failed for a reason other than memory.
    """
    next_step = "Use --fast for the estimate alone, or report this with the recipe."
    with tempfile.TemporaryDirectory(prefix="tunix-rt-plan-") as directory:
        answer, log = Path(directory) / "answer.json", Path(directory) / "log.txt"
        code = _run_compiler(request, target, answer, log, on_tick)
        if code == 0 and answer.is_file():
            try:
                return CompiledStep.model_validate_json(answer.read_bytes())
            except ValidationError as error:
                problem = f"The answer of the compiling process cannot be read: {error}"
                raise TunixRTError(problem, next_step=next_step) from error
        if code == REFUSED and answer.is_file():
            refusal = Refusal.model_validate_json(answer.read_bytes())
            raise InvalidInputError(refusal.detail, next_step=refusal.next_step)
        output = log.read_text(encoding="utf-8", errors="replace").strip()[-_SHOWN_CHARS:] or "no output"
        raise TunixRTError(f"The compiler exited with code {code}: {output}", next_step=next_step)


def _run_compiler(request: CompileRequest, target: Target, answer: Path, log: Path, on_tick: OnTick) -> int:
    environment = os.environ | compiler_environment(target)
    if assembler := assembler_directory():
        environment["PATH"] = f"{assembler}{os.pathsep}{environment.get('PATH', '')}"
    started = time.monotonic()
    command = [sys.executable, "-m", AOT_MODULE, str(answer)]
    with log.open("wb") as output:
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=output, stderr=output, env=environment
        )
        try:
            assert child.stdin is not None
            # If the child exited during startup, its log has the reason.
            with suppress(BrokenPipeError):
                child.stdin.write(request.model_dump_json().encode() + b"\n")
                child.stdin.flush()
            # The pipe stays open: the child exits when it closes.
            while child.poll() is None:
                on_tick(time.monotonic() - started)
                time.sleep(_TICK_S)
        finally:
            child.kill()
            child.communicate()
    return child.returncode
