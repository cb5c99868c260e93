"""`python -m tunix_rt.engines.jax.probe cpu|gpu|tpu`: whether the devices work, as one line of JSON."""

from tunix_rt.core.doctor import DeviceReport, Platform
from tunix_rt.engines.base import DeviceRequest
from tunix_rt.engines.jax.devices import choose_device
from tunix_rt.engines.probing import answer_probe


def open_device(platform: Platform) -> DeviceReport:
    """The devices of a platform, each tried. Raises DeviceError."""
    choice = choose_device(DeviceRequest(platform))
    return DeviceReport(
        platform=choice.platform,
        kind=choice.kind,
        num_devices=len(choice.devices),
        memory_bytes=choice.memory_bytes,
    )


if __name__ == "__main__":
    answer_probe(open_device)
