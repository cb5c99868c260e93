"""The devices that a run has, as the target of a plan."""

from dataclasses import replace
from typing import Protocol

from tunix_rt.core.targets import Platform, Target, known_target, target_of_device_kind
from tunix_rt.engines.planning.this_machine import cpu_target

_UNKNOWN_CARD = "t4"


class Devices(Protocol):
    """What both engines know of the devices that they have chosen. As text: what, how many, and why."""

    @property
    def platform(self) -> Platform:
        """Of all of them."""

    @property
    def kind(self) -> str:
        """What they are, e.g. `NVIDIA H200`."""

    @property
    def count(self) -> int:
        """How many, over all processes."""

    @property
    def memory_bytes(self) -> int | None:
        """What one of them offers; None when it does not tell."""

    def peak_memory_bytes(self) -> int | None:
        """The most that one device of this process has used so far; on a CPU, the process."""


def device_target(devices: Devices) -> Target:
    """The devices at hand as a target: their own memory, and the speed of their kind."""
    target = cpu_target() if devices.platform == "cpu" else target_of_device_kind(devices.kind)
    if target is None:
        target = replace(
            known_target(_UNKNOWN_CARD),
            speed_source=f"{devices.kind} is not known here; that of a T4 is assumed",
        )
    return replace(
        target,
        name="local",
        description=f"{devices.count} x {devices.kind}",
        num_devices=devices.count,
        memory_bytes=devices.memory_bytes or target.memory_bytes,
        memory_source="what the device reports" if devices.memory_bytes else target.memory_source,
        device_kind=devices.kind,
    )


def peak_flops(devices: Devices) -> float | None:
    """What all devices together could do at best; None where no figure is known, as for a CPU."""
    target = None if devices.platform == "cpu" else target_of_device_kind(devices.kind)
    return None if target is None else target.peak_flops * devices.count
