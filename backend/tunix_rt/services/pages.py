"""Where a page of a list stands."""

from pydantic import BaseModel, ConfigDict


class Pagination(BaseModel):
    """Where a page stands."""

    model_config = ConfigDict(frozen=True)
    limit: int
    offset: int
    total: int
    total_is_exact: bool
    """False when there are more than `total`: counting stops at a bound."""
    next_offset: int | None = None
    """Where the next page begins; none after the last."""


def pagination(limit: int, offset: int, num_shown: int, total: int) -> Pagination:
    """Of a page of a list that was counted to its end."""
    end = offset + num_shown
    next_offset = end if num_shown and end < total else None
    return Pagination(limit=limit, offset=offset, next_offset=next_offset, total=total, total_is_exact=True)
