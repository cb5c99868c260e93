"""Parameters of the query string that several routes take."""

from typing import Annotated

from fastapi import Query

from tunix_rt.core.evaluation.store_types import MAX_FILTER_CHARS, DayOrMoment
from tunix_rt.core.trace import StorableText

MAX_OFFSET = 2**31 - 1

Limit = Annotated[int, Query(ge=1, le=100)]
Offset = Annotated[int, Query(ge=0, le=MAX_OFFSET)]
Word = Annotated[StorableText | None, Query(max_length=MAX_FILTER_CHARS)]
DateFrom = Annotated[DayOrMoment | None, Query(description="not before this day or moment, in UTC")]
DateTo = Annotated[DayOrMoment | None, Query(description="not after this day (to its end) or moment, in UTC")]
