"""Workers: processes that take runs, with slots on the devices of their machine."""

import re
from datetime import datetime
from typing import Literal

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.records import Record

SlotDevice = Literal["auto", "cpu", "gpu", "tpu"]
WorkerStatus = Literal["active", "draining", "stopped", "lost"]
_SLOT = re.compile(r"(auto|cpu|gpu|tpu)(?::(\d+))?")


class Slot(Record):
    """Room for one run at a time."""

    device: SlotDevice = "auto"
    """auto takes any run and leaves the choice of the device to it."""
    index: int | None = None
    """Of the GPU. None: all of them."""

    def takes(self, device: str) -> bool:
        """Whether a run that asks for `device` may go here."""
        return self.device == "auto" or device in ("auto", self.device)

    def __str__(self) -> str:
        return self.device if self.index is None else f"{self.device}:{self.index}"


def parse_slot(text: str) -> Slot:
    """A slot as people write it.

    Example:
        "gpu:1" -> Slot(device="gpu", index=1)
    """
    match = _SLOT.fullmatch(text)
    if match is None or (match[2] is not None and match[1] != "gpu"):
        raise InvalidInputError(
            f"{text!r} is no slot.", next_step="Write cpu, gpu, tpu or auto; gpu:0 is the first GPU alone."
        )
    return Slot.model_validate({"device": match[1], "index": None if match[2] is None else int(match[2])})


class Worker(Record):
    """A worker as the others see it."""

    worker_id: str
    host: str
    pid: int
    process_start: str
    """When the process began, as the operating system says it: a pid that is used again is another one."""
    version: str
    slots: tuple[Slot, ...]
    status: WorkerStatus
    started_at: datetime
    last_seen_at: datetime
    beats: int
