"""What the two queues, `runs` and `tasks`, have in common: claiming a row, beats and leases."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table, bindparam, not_, or_, select, update

from tunix_rt.runs.store.workers import queue_is_paused
from tunix_rt.runs.types import ACTIVE, BACKOFF_CAP_S, BeatAnswer, Lease, LeaseBeat, Slot

NO_LEASE: dict[str, Any] = {"lease": None, "beats": 0}


class LeaseTable:
    """The statements on one queue. They are built once: building one takes longer than running it."""

    def __init__(
        self,
        table: Table,
        columns: Sequence[ColumnElement[Any]],
        *,
        order: Sequence[ColumnElement[Any]],
        conditions: Sequence[ColumnElement[bool]] = (),
    ) -> None:
        """Prepare the statements.

        Args:
            table: `runs` or `tasks`.
            columns: What `claim` selects.
            order: Which row is claimed first.
            conditions: What must hold of a claimed row besides its status, device and retry time.
        """
        due = table.c.not_before
        self._first = (
            select(*columns)
            .where(
                table.c.status == "queued",
                # A retry later than any back-off was written before the clock was set back: it is due.
                or_(due.is_(None), due <= bindparam("now"), due > bindparam("latest")),
                not_(queue_is_paused()),
                *conditions,
            )
            .order_by(*order)
            .limit(1)
            .with_for_update(skip_locked=True, of=table)
        )
        self._first_on_devices = self._first.where(table.c.device.in_(bindparam("devices", expanding=True)))
        self._beat = (
            update(table)
            .where(table.c.lease.in_(bindparam("tokens", expanding=True)))
            .values(beats=table.c.beats + 1)
            .returning(*(table.c[name] for name in ("lease", "status", "is_held") if name in table.c))
        )
        self._leases = select(
            table.c.id, table.c.worker_id, table.c.lease, table.c.beats, table.c.num_failures
        ).where(table.c.status.in_(ACTIVE), table.c.lease.is_not(None))

    def first(
        self, connection: Connection, slots: Sequence[Slot], now: datetime, **values: Any
    ) -> Row[Any] | None:
        """Lock the first row that one of these free slots may run; None if there is none."""
        devices = {slot.device for slot in slots}
        values |= {"now": now, "latest": now + timedelta(seconds=BACKOFF_CAP_S)}
        if "auto" in devices:
            return connection.execute(self._first, values).one_or_none()
        values["devices"] = sorted(devices | {"auto"})
        return connection.execute(self._first_on_devices, values).one_or_none()

    def beat(self, connection: Connection, leases: Sequence[Lease]) -> tuple[BeatAnswer, ...]:
        """Count one beat for every lease that still holds, in one statement."""
        if not leases:
            return ()
        rows = connection.execute(self._beat, {"tokens": [lease.token for lease in leases]})
        return tuple(BeatAnswer(*row) for row in rows)

    def leases(self, connection: Connection) -> tuple[LeaseBeat, ...]:
        """Every lease in force, with its beats so far."""
        return tuple(LeaseBeat(str(row[0]), *row[1:]) for row in connection.execute(self._leases))


def claim_values(row: Row[Any], worker_id: str, now: datetime) -> dict[str, Any]:
    """The fields of a run or a task that a claim changes."""
    return {
        "status": "running",
        "worker_id": worker_id,
        "num_attempts": row.num_attempts + 1,
        "not_before": None,
        "started_at": row.started_at or now,
    }
