"""Report whether the device works (run with `python -m`)."""

from tunix_rt.engines.select import answer_probe
from tunix_rt.engines.torch.devices import choose_device
from tunix_rt.engines.types import DeviceReport, DeviceRequest, Platform


def open_device(platform: Platform) -> DeviceReport:
    """Report the device of a platform after checking it. Raises DeviceError."""
    device = choose_device(DeviceRequest(platform))
    return DeviceReport(
        platform=device.platform,
        kind=device.kind,
        num_devices=device.count,
        memory_bytes=device.memory_bytes,
    )


if __name__ == "__main__":
    answer_probe(open_device)
