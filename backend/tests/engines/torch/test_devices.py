"""Device selection of the torch engine, and its errors."""

import pytest
import torch

from tunix_rt.base.errors import DeviceError, InvalidInputError
from tunix_rt.engines.planning.limits import require_torch_format
from tunix_rt.engines.torch.devices import TorchDevice, _cpu_reason, choose_device
from tunix_rt.engines.types import DeviceRequest

needs_no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")


def test_cpu_description_and_memory() -> None:
    """The text has the format of the JAX engine."""
    device = choose_device(DeviceRequest("cpu"))

    assert str(device).startswith("cpu: 1 x cpu, ")
    assert str(device).endswith(" GiB each (--device cpu)")
    assert device.device == torch.device("cpu")
    assert (device.peak_memory_bytes() or 0) > 0


@needs_no_gpu
def test_missing_gpu_error_quotes_torch() -> None:
    with pytest.raises(DeviceError, match=r"no GPU that torch can use.*CUDA.*--device cpu"):
        choose_device(DeviceRequest("gpu"))


@needs_no_gpu
def test_auto_explains_cpu_without_gpu() -> None:
    assert "auto: no GPU" in choose_device(DeviceRequest("auto")).reason


def test_auto_rejects_broken_gpu() -> None:
    obstacle = "The NVIDIA driver on your system is too old (found version 11040)"

    with pytest.raises(DeviceError, match=r"driver on your system is too old.*--device cpu"):
        _cpu_reason(obstacle, has_gpu=True, visible=None)


def test_hidden_gpu_is_not_broken() -> None:
    assert "CUDA_VISIBLE_DEVICES= hides it" in _cpu_reason("no device", has_gpu=True, visible="")


def test_tpu_error_suggests_jax() -> None:
    with pytest.raises(DeviceError, match="--engine jax"):
        choose_device(DeviceRequest("tpu"))


def test_second_cpu_is_rejected() -> None:
    with pytest.raises(InvalidInputError, match="no device 1"):
        choose_device(DeviceRequest("cpu", index=1))


class _OldCard(TorchDevice):
    """A T4, which lacks bfloat16."""

    @property
    def compute_capability(self) -> tuple[int, int]:
        return (7, 5)


def test_unsupported_bfloat16_error_names_key() -> None:
    card = _OldCard("gpu", torch.device("cuda"), "Tesla T4", 1, 16 * 2**30, "auto: a GPU is there")

    with pytest.raises(InvalidInputError, match=r"Tesla T4.*bfloat16.*training\.precision\.compute: float32"):
        require_torch_format("bfloat16", card.kind, card.compute_capability)
    require_torch_format("float32", card.kind, card.compute_capability)
    require_torch_format("bfloat16", "cpu", choose_device(DeviceRequest("cpu")).compute_capability)
