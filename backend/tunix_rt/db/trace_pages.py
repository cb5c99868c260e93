"""One page of a list of traces: which keys it holds, in which order, of how many."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, select

from tunix_rt.base.db.schema import traces
from tunix_rt.core.store_types import TraceOrder

COUNT_UP_TO = 10_000
"""Totals of filtered lists are exact up to here; counting on would make every page of a large store slow."""


@dataclass(frozen=True)
class Window:
    """Where a page stands in its list; `total` is None where the list is longer than was counted."""

    order: TraceOrder
    limit: int
    offset: int
    total: int | None


def keys_of_page(chosen: Select[Any], key: ColumnElement[int], window: Window) -> Select[Any]:
    """The keys of the page, as a column `pk`."""
    keys = chosen.add_columns(key.label("pk"))
    if window.order == "newest":
        return _newest(keys, key, window)
    if window.order == "oldest":
        return keys.order_by(key).limit(window.limit).offset(window.offset)
    if key is not traces.c.pk:
        # Search and labels are the index's own: the scores are in the table.
        keys = select(traces.c.pk).where(traces.c.pk.in_(keys))
    return keys.order_by(*sorted_by(window.order)).limit(window.limit).offset(window.offset)


def sorted_by(order: TraceOrder) -> tuple[ColumnElement[Any], ...]:
    """The order of the rows of a page."""
    pk, score = traces.c.pk, traces.c.score
    orders: dict[TraceOrder, tuple[ColumnElement[Any], ...]] = {
        "newest": (pk.desc(),),
        "oldest": (pk.asc(),),
        "best": (score.desc().nulls_last(), pk.desc()),
        "worst": (score.asc().nulls_last(), pk.desc()),
    }
    return orders[order]


def count(connection: Connection, chosen: Select[Any], key: ColumnElement[int] | None) -> tuple[int, bool]:
    """How many are chosen, and whether that is all of them.

    With a key, counting stops at `COUNT_UP_TO`; without, everything is counted.
    """
    if key is None:
        everything = chosen.with_only_columns(func.count(), maintain_column_froms=True)
        return int(connection.execute(everything).scalar_one()), True
    some = chosen.add_columns(key.label("pk")).limit(COUNT_UP_TO + 1).subquery()
    num_counted = int(connection.execute(select(func.count()).select_from(some)).scalar_one())
    return min(num_counted, COUNT_UP_TO), num_counted <= COUNT_UP_TO


def _newest(keys: Select[Any], key: ColumnElement[int], window: Window) -> Select[Any]:
    """Newest first; reached from the nearer end where the total is known."""
    limit, offset, total = window.limit, window.offset, window.total
    if total is None or offset <= total // 2:
        return keys.order_by(key.desc()).limit(limit).offset(offset)
    num_after = max(total - offset - limit, 0)
    return keys.order_by(key).limit(max(min(limit, total - offset), 0)).offset(num_after)
