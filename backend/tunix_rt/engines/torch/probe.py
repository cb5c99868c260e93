"""`python -m tunix_rt.engines.torch.probe cpu|gpu`: whether the device works, as one line of JSON."""

from tunix_rt.core.doctor import DeviceReport, Platform
from tunix_rt.engines.base import DeviceRequest
from tunix_rt.engines.probing import answer_probe
from tunix_rt.engines.torch.devices import choose_device


def open_device(platform: Platform) -> DeviceReport:
    """The device of a platform, tried. Raises DeviceError."""
    device = choose_device(DeviceRequest(platform))
    return DeviceReport(
        platform=device.platform,
        kind=device.kind,
        num_devices=device.count,
        memory_bytes=device.memory_bytes,
    )


if __name__ == "__main__":
    answer_probe(open_device)
