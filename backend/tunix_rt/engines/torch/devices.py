"""Device selection with a functional check; peak memory including CUDA graphs.

Torch's allocator counts the working memory of a CUDA graph only while the graph is captured. Afterwards it
counts that memory as free, although every replay writes to it in addition to what is allocated then.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from tunix_rt.base.errors import DeviceError, InvalidInputError
from tunix_rt.base.host import available_memory_bytes, peak_process_bytes
from tunix_rt.engines.types import DeviceRequest, Platform

_NVIDIA_DEVICE_FILE = Path("/dev/nvidiactl")
_GPU_INSTALL_HINT = (
    "On Kaggle: Settings > Accelerator > GPU. Elsewhere: install the NVIDIA driver and a torch built for its "
    "CUDA version (nvidia-smi names it). Or run with --device cpu."
)
# Many containers report AMX but forbid it: oneDNN then crashes with an illegal instruction in the first
# bfloat16 product. It reads this variable at its first product.
_ONEDNN_LIMIT = "ONEDNN_MAX_CPU_ISA"


@dataclass(frozen=True)
class TorchDevice:
    """The device of this process, checked."""

    platform: Platform
    device: torch.device
    kind: str
    """Device kind, e.g. `NVIDIA H200`."""
    count: int
    """Number of devices of the run, over all processes."""
    memory_bytes: int | None
    """Memory of one device; None if unknown."""
    reason: str

    @property
    def compute_capability(self) -> tuple[int, int] | None:
        """Compute capability of the NVIDIA GPU, e.g. (9, 0) for Hopper; None on CPU."""
        return torch.cuda.get_device_capability(self.device) if self.platform == "gpu" else None

    def peak_memory_bytes(self) -> int | None:
        """Peak device memory that this process has needed so far; on CPU, of the process.

        Torch's allocator may cache more, and frees it before it reports that memory is full.
        """
        return peak_process_bytes() if self.platform == "cpu" else peak_bytes(self.device)

    def __str__(self) -> str:
        memory = "" if self.memory_bytes is None else f", {self.memory_bytes / 2**30:.2f} GiB each"
        return f"{self.platform}: {self.count} x {self.kind}{memory} ({self.reason})"


def choose_device(request: DeviceRequest, *, count: int = 1) -> TorchDevice:
    """Select the device, check that it works, and record the reason for the choice.

    Args:
        request: The requested device. Without an index, a process takes its first visible GPU.
        count: Number of devices of the run, over all processes.

    Raises:
        DeviceError: The requested device does not exist or does not work, or `auto` finds a GPU that cannot
            be used: a run that was meant for it would take days on the CPU.
        InvalidInputError: There is no device of this index.
    """
    if request.name == "tpu":
        raise DeviceError(
            "The torch engine does not run on TPU.",
            next_step="Use --engine jax for the TPU, or --device auto with this engine.",
        )
    platform, reason = _platform(request)
    num_devices = 1 if platform == "cpu" else torch.cuda.device_count()
    if request.index is not None and request.index >= num_devices:
        raise InvalidInputError(
            f"There is no device {request.index}: this machine has {num_devices}, counted from 0.",
            next_step="Choose a smaller index, or leave it out.",
        )
    if platform == "cpu":
        os.environ.setdefault(_ONEDNN_LIMIT, "AVX512_CORE_BF16")
        cpu = torch.device("cpu")
        _check_device(cpu)
        return TorchDevice("cpu", cpu, "cpu", count, available_memory_bytes(), reason)
    if request.index is None and count == 1 and num_devices > 1:
        reason += f", the first of {num_devices}: torchrun uses all of them"
    gpu = torch.device("cuda", request.index or 0)
    torch.cuda.set_device(gpu)
    properties = torch.cuda.get_device_properties(gpu)
    _check_device(gpu)
    return TorchDevice("gpu", gpu, properties.name, count, properties.total_memory, reason)


def gpu_obstacle() -> str | None:
    """Torch's reason why it cannot use a GPU here; None if it can."""
    try:
        torch.cuda.init()
    # A torch without CUDA asserts; a missing or too old driver is a RuntimeError.
    except (AssertionError, RuntimeError) as error:
        return " ".join(str(error).split())
    return None if torch.cuda.device_count() else "CUDA works, but has no visible device"


def _platform(request: DeviceRequest) -> tuple[Platform, str]:
    """The platform and the reason for it."""
    if request.name == "cpu":
        return "cpu", "--device cpu"
    obstacle = gpu_obstacle()
    if obstacle is None:
        return "gpu", "--device gpu" if request.name == "gpu" else "auto: a GPU is there"
    if request.name == "gpu":
        raise DeviceError(
            f"There is no GPU that torch can use on this machine: {obstacle}.", next_step=_GPU_INSTALL_HINT
        )
    return "cpu", _cpu_reason(
        obstacle, has_gpu=_NVIDIA_DEVICE_FILE.exists(), visible=os.environ.get("CUDA_VISIBLE_DEVICES")
    )


def _cpu_reason(obstacle: str, *, has_gpu: bool, visible: str | None) -> str:
    """Why `auto` uses the CPU. A visible but unusable GPU raises: the user must give it up explicitly."""
    if not has_gpu:
        return "auto: no GPU: this machine has no NVIDIA device file"
    if visible in ("", "-1"):
        return f"auto: no GPU: CUDA_VISIBLE_DEVICES={visible} hides it"
    raise DeviceError(
        f"This machine has an NVIDIA GPU, but torch cannot use it: {obstacle}.",
        next_step="Install a torch that fits the driver (nvidia-smi names its CUDA version), or run with "
        "--device cpu to train on the CPU.",
    )


def _check_device(device: torch.device) -> None:
    """Multiply two small matrices: a listed device may still be in use, broken or out of memory."""
    try:
        ones = torch.ones((8, 8), device=device)
        is_right = float((ones @ ones).sum()) == 512.0
    except RuntimeError as error:
        raise DeviceError(
            f"{device} is there but does not work: {error}",
            next_step="Check that no other process holds it (nvidia-smi), then run it again.",
        ) from error
    if not is_right:
        raise DeviceError(
            f"{device} cannot multiply two matrices.", next_step="Use another device: this one is faulty."
        )


# The CPU allocator raises a plain RuntimeError.
_CPU_OUT_OF_MEMORY_MESSAGES = ("DefaultCPUAllocator", "not enough memory")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether torch reports that a tensor does not fit on the device."""
    is_on_cpu = any(message in str(error) for message in _CPU_OUT_OF_MEMORY_MESSAGES)
    return isinstance(error, torch.OutOfMemoryError) or (isinstance(error, RuntimeError) and is_on_cpu)


@dataclass
class _GraphMemory:
    replayed_bytes: int = 0
    """Working memory of the last captured graph, which the allocator counts as free."""
    before_bytes: int = 0
    """The peak up to the last capture."""


# Global like torch's own counters: a process uses one GPU.
_graph_memory = _GraphMemory()


@contextmanager
def count_graph_memory(device: torch.device) -> Iterator[None]:
    """Count memory allocated and freed in this context as used by every replay until the next capture."""
    before = peak_bytes(device)
    torch.cuda.reset_peak_memory_stats(device)
    yield
    capture_peak = torch.cuda.max_memory_allocated(device)
    _graph_memory.before_bytes = max(before, capture_peak)
    _graph_memory.replayed_bytes = capture_peak - torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)


def peak_bytes(device: torch.device) -> int:
    """Peak memory so far, including the working memory of the graph."""
    return max(
        _graph_memory.before_bytes, torch.cuda.max_memory_allocated(device) + _graph_memory.replayed_bytes
    )
