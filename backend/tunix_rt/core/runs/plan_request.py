"""What somebody asks who wants to know whether a run would fit."""

from typing import Annotated

from pydantic import Field

from tunix_rt.core.runs.request import RunRequest


class PlanRequest(RunRequest):
    """A run, and how it is to be planned. The body of `POST /api/tunix/plans`."""

    session_seconds: Annotated[float, Field(gt=0, le=10**9)] | None = None
    """Time that the run may take, e.g. that of a Kaggle session."""
    is_compiled: bool = False
    """Ask the compiler for the figures, if this machine has one for the target: minutes, the first time."""
