"""Report the devices that work (run with `python -m`)."""

from tunix_rt.engines.jax.devices import choose_device
from tunix_rt.engines.select import answer_probe
from tunix_rt.engines.types import DeviceReport, DeviceRequest, Platform


def open_device(platform: Platform) -> DeviceReport:
    """Report the devices of a platform after checking each. Raises DeviceError."""
    choice = choose_device(DeviceRequest(platform))
    return DeviceReport(
        platform=choice.platform,
        kind=choice.kind,
        num_devices=len(choice.devices),
        memory_bytes=choice.memory_bytes,
    )


if __name__ == "__main__":
    answer_probe(open_device)
