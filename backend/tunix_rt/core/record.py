"""What all records of runs and evaluations have in common."""

from typing import Any

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Closed and frozen; what is not known is left out, never written as null."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def to_json(self) -> dict[str, Any]:
        """The record as plain JSON values."""
        return self.model_dump(mode="json", exclude_none=True)
