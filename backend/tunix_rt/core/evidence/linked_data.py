"""What the JSON-LD files of a bundle have in common."""

from typing import Any

from pydantic import ConfigDict

from tunix_rt.base.records import Record


class LinkedRecord(Record):
    """A record whose keys are those of a standard: `@id`, `_type`, `sha256`."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )

    def to_json(self) -> dict[str, Any]:
        """The record under the standard's own keys."""
        return self.model_dump(mode="json", exclude_none=True, by_alias=True)
