"""Asks an engine in a process of its own whether a device works: a broken driver may hang or crash there."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import cast

from pydantic import BaseModel, ConfigDict, ValidationError

from tunix_rt.base.errors import TunixRTError
from tunix_rt.core.doctor import DeviceReport, DoctorProblem, Platform
from tunix_rt.engines.base import EngineName

PROBE_TIMEOUT_S = 120.0
_SHOWN_CHARS = 500
# A probe must not take the memory that a training on the same card is using.
_PROBE_VARIABLES = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


class ProbeAnswer(BaseModel):
    """The last line that a probe prints."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    device: DeviceReport | None = None
    problem: DoctorProblem | None = None


def probe(engine: EngineName, platform: Platform, *, timeout_s: float = PROBE_TIMEOUT_S) -> ProbeAnswer:
    """Let the engine open the devices of a platform. Whatever goes wrong there is the answer."""
    command = [sys.executable, "-m", f"tunix_rt.engines.{engine}.probe", platform]
    what = f"The {engine} engine on the {platform.upper()}"
    try:
        done = subprocess.run(
            command,
            env=os.environ | _PROBE_VARIABLES,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired:
        return _broken(f"{what} gave no answer within {timeout_s:.0f} s.")
    *_, last_line = done.stdout.splitlines() or [""]
    try:
        return ProbeAnswer.model_validate_json(last_line)
    except ValidationError:
        said = (done.stderr or done.stdout).strip()[-_SHOWN_CHARS:] or "it said nothing"
        return _broken(f"{what} ended with code {done.returncode}: {said}")


def answer_probe(open_device: Callable[[Platform], DeviceReport]) -> None:
    """What the child does: open the device that its argument names, and print how that went."""
    platform = cast(Platform, sys.argv[1])
    try:
        answer = ProbeAnswer(device=open_device(platform))
    except TunixRTError as error:
        answer = ProbeAnswer(problem=DoctorProblem(detail=error.detail, next_step=error.next_step))
    sys.stdout.write(answer.model_dump_json(exclude_none=True) + "\n")


def _broken(detail: str) -> ProbeAnswer:
    next_step = "Check the driver (nvidia-smi); then install the engine's extra again."
    return ProbeAnswer(problem=DoctorProblem(detail=detail, next_step=next_step))
