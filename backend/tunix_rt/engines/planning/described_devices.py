"""Devices that are not there, as compilers are told about them: TPU slices by name, GPUs by their parts."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tunix_rt.base.errors import MissingExtraError
from tunix_rt.core.targets import LOCAL, Target
from tunix_rt.engines.planning.protocol import TopologyRequest

_GPU_PLUGINS = ("jax_plugins.xla_cuda12", "jax_plugins.xla_cuda13")


@dataclass(frozen=True)
class GpuParts:
    """What decides which programs a GPU can run. From NVIDIA's data sheets and programming guide."""

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
    """Refuse when this machine cannot compile for the target.

    Raises:
        MissingExtraError: A package is missing.
    """
    if not _is_installed("jax") or not _is_installed("optax"):
        raise MissingExtraError("Compiling a plan", extra="jax")
    if target.platform == "tpu" and not _is_installed("libtpu"):
        raise MissingExtraError("Compiling for a TPU that is not there", extra="tpu-plan")
    if target.platform == "gpu" and target.name != LOCAL and not any(map(_is_installed, _GPU_PLUGINS)):
        raise MissingExtraError("Compiling for a GPU that is not there", extra="gpu-plan")


def topology_request(target: Target) -> TopologyRequest | None:
    """The target as a compiler is told about it; None for the devices of this machine."""
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
    # A block may use the shared memory of a core, less 1 KiB that the driver keeps; before Ampere all of it.
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
        # Else a second plan at the same time aborts on libtpu's lock file.
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    }


def assembler_directory() -> Path | None:
    """Where the CUDA wheel keeps `ptxas`, which XLA:GPU looks for on the PATH; None without the wheel."""
    found = find_spec("nvidia.cuda_nvcc") if _is_installed("nvidia") else None
    places = list(found.submodule_search_locations or []) if found else []
    return Path(places[0]) / "bin" if places else None


def _is_installed(package: str) -> bool:
    parent, _, _ = package.rpartition(".")
    return (not parent or find_spec(parent) is not None) and find_spec(package) is not None
