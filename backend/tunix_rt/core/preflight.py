"""What a preflight finds: whether the machine is the one that was planned for, and the plan still holds."""

from typing import Literal

from tunix_rt.base.records import Record

CheckName = Literal["devices", "memory", "session"]


class PreflightCheck(Record):
    """One question and its answer."""

    name: CheckName
    passed: bool
    detail: str
    next_step: str | None = None
    """What to do; absent when there is nothing to do."""


class Preflight(Record):
    """The checks in their order. One that makes no sense after a failure is left out."""

    recipe: str
    target: str
    passed: bool
    checks: tuple[PreflightCheck, ...]
