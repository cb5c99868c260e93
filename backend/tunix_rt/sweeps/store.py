"""SQL: sweeps, trials, journal."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, Row, Select, delete, func, insert, select, update

from tunix_rt.base.db.engine import reading, writing
from tunix_rt.base.db.schema import sweep_journal, sweep_trials, sweeps, workers
from tunix_rt.base.errors import NotFoundError
from tunix_rt.engines.training.types import RunFailure, RunStatus
from tunix_rt.sweeps.types import Sweep, SweepDetail, SweepPage, Trial, require_sweep_transition


def _sweep_of(row: Row[Any]) -> dict[str, Any]:
    """The values of a sweep, from its row and the number of its trials."""
    names = ("name", "status", "created_at", "started_at", "finished_at", "best_run_id", "worker_id")
    return {
        "sweep_id": row.id,
        **{name: getattr(row, name) for name in names},
        **json.loads(row.spec),
        "failure": None if row.failure is None else json.loads(row.failure),
        "num_trials": row.num_trials,
    }


JournalRecord = dict[str, Any]
Journal = list[JournalRecord]
_ACTIVE = ("running", "cancelling")
_ALIVE = ("active", "draining")


_SWEEPS = select(
    sweeps,
    select(func.count())
    .select_from(sweep_trials)
    .where(sweep_trials.c.sweep_pk == sweeps.c.pk)
    .scalar_subquery()
    .label("num_trials"),
)

_TRIALS = select(*(column for column in sweep_trials.c if column.name != "sweep_pk")).order_by(
    sweep_trials.c.number
)


@dataclass(frozen=True)
class Decision:
    """Changed trials and the journal records of the sampler, stored together or not at all."""

    num_known: int
    """Length of the journal at the decision. If it is longer now, another worker has decided meanwhile."""
    records: Sequence[JournalRecord]
    trials: Sequence[Trial]
    """New ones, and those that have changed."""
    best_run_id: str | None


class SweepRepository:
    """Sweeps in SQLite or PostgreSQL. Every method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, sweep: Sweep) -> None:
        """Store a new sweep."""
        # One text, because neither ever changes.
        request = {"spec": sweep.spec.model_dump(mode="json", exclude_unset=True), "recipe": sweep.recipe}
        values = {name: getattr(sweep, name) for name in ("name", "status", "created_at")}
        with writing(self._engine) as connection:
            connection.execute(insert(sweeps).values(id=sweep.sweep_id, spec=json.dumps(request), **values))

    def get(self, sweep_id: str) -> SweepDetail:
        """The sweep with its trials, or NotFoundError."""
        with reading(self._engine) as connection:
            row = connection.execute(_SWEEPS.where(sweeps.c.id == sweep_id)).one_or_none()
            if row is None:
                raise _unknown(sweep_id)
            trials = [
                dict(trial._mapping) | {"params": json.loads(trial.params)}
                for trial in connection.execute(_TRIALS.where(sweep_trials.c.sweep_pk == row.pk))
            ]
        return SweepDetail.model_validate(_sweep_of(row) | {"trials": trials})

    def list(self, *, limit: int, offset: int) -> SweepPage:
        """A page of sweeps, newest first, and the total."""
        newest = _SWEEPS.order_by(sweeps.c.created_at.desc(), sweeps.c.pk.desc())
        with reading(self._engine) as connection:
            total = connection.execute(select(func.count()).select_from(sweeps)).scalar_one()
            rows = connection.execute(newest.limit(limit).offset(offset)).all()
        return SweepPage(data=tuple(Sweep.model_validate(_sweep_of(row)) for row in rows), total=total)

    def active(self) -> tuple[str, ...]:
        """The ids of active sweeps, oldest first."""
        chosen = select(sweeps.c.id).where(sweeps.c.status.in_(_ACTIVE)).order_by(sweeps.c.pk)
        with reading(self._engine) as connection:
            return tuple(connection.execute(chosen).scalars())

    def find_ids(self, part: str, *, limit: int = 10) -> tuple[str, ...]:
        """Ids that begin with this, whose last word it is, or whose name it is, newest first."""
        fits = (
            sweeps.c.id.startswith(part, autoescape=True)
            | sweeps.c.id.endswith(f"-{part}", autoescape=True)
            | (sweeps.c.name == part)
        )
        with reading(self._engine) as connection:
            chosen = select(sweeps.c.id).where(fits).order_by(sweeps.c.pk.desc()).limit(limit)
            return tuple(connection.execute(chosen).scalars())

    def take(self, sweep_id: str, worker_id: str) -> bool:
        """Take ownership of the sweep if it has no living owner; whether this worker owns it."""
        is_watched = select(workers.c.id).where(workers.c.status.in_(_ALIVE))
        is_free = sweeps.c.worker_id.is_(None) | sweeps.c.worker_id.not_in(is_watched)
        with reading(self._engine) as connection:
            holder = select(sweeps.c.worker_id).where(sweeps.c.id == sweep_id)
            if connection.execute(holder).scalar_one_or_none() == worker_id:
                return True
        with writing(self._engine) as connection:
            taken = update(sweeps).where(sweeps.c.id == sweep_id, is_free).values(worker_id=worker_id)
            return connection.execute(taken).rowcount == 1

    def move(
        self,
        sweep_id: str,
        after: RunStatus,
        now: datetime,
        failure: RunFailure | None = None,
        trials: Sequence[Trial] = (),
    ) -> None:
        """Give a sweep another status, and these of its trials.

        Raises:
            NotFoundError: There is no such sweep.
            ConflictError: The transition is not allowed.
        """
        with writing(self._engine) as connection:
            row = _locked(connection, sweep_id)
            require_sweep_transition(sweep_id, row.status, after)
            is_over = after in ("cancelled", "failed", "succeeded")
            values: dict[str, Any] = {
                "status": after,
                "finished_at": now if is_over else None,
                "failure": None if failure is None else failure.model_dump_json(),
            }
            if after == "running":
                values["started_at"] = now
            connection.execute(update(sweeps).where(sweeps.c.pk == row.pk).values(**values))
            for trial in trials:
                _put(connection, row.pk, trial)

    def journal_length(self, sweep_id: str) -> int:
        """Number of journal records; NotFoundError for an unknown sweep."""
        with reading(self._engine) as connection:
            pk = connection.execute(select(sweeps.c.pk).where(sweeps.c.id == sweep_id)).scalar_one_or_none()
            if pk is None:
                raise _unknown(sweep_id)
            return _num_records(connection, pk)

    def journal(self, sweep_id: str) -> Journal:
        """The journal records of the sampler, in order."""
        chosen = (
            select(sweep_journal.c.record)
            .join(sweeps, sweeps.c.pk == sweep_journal.c.sweep_pk)
            .where(sweeps.c.id == sweep_id)
            .order_by(sweep_journal.c.sequence)
        )
        with reading(self._engine) as connection:
            return [json.loads(record) for record in connection.execute(chosen).scalars()]

    def commit(self, sweep_id: str, decision: Decision) -> bool:
        """Store a decision; False, with nothing stored, if the sweep has changed since it was read."""
        with writing(self._engine) as connection:
            row = _locked(connection, sweep_id)
            if row.status not in _ACTIVE or _num_records(connection, row.pk) != decision.num_known:
                return False
            records = [
                {"sweep_pk": row.pk, "sequence": sequence, "record": json.dumps(record)}
                for sequence, record in enumerate(decision.records, start=decision.num_known)
            ]
            if records:
                connection.execute(insert(sweep_journal), records)
            for trial in decision.trials:
                _put(connection, row.pk, trial)
            best = update(sweeps).where(sweeps.c.pk == row.pk).values(best_run_id=decision.best_run_id)
            connection.execute(best)
        return True

    def remove(self, sweep_id: str) -> None:
        """Delete a sweep with its trials; the runs stay. ConflictError while it is active."""
        with writing(self._engine) as connection:
            row = _locked(connection, sweep_id)
            if row.status in _ACTIVE:
                require_sweep_transition(sweep_id, row.status, "cancelled")
            connection.execute(delete(sweeps).where(sweeps.c.pk == row.pk))


def _locked(connection: Connection, sweep_id: str) -> Row[Any]:
    chosen: Select[Any] = select(sweeps.c.pk, sweeps.c.status).where(sweeps.c.id == sweep_id)
    row = connection.execute(chosen.with_for_update()).one_or_none()
    if row is None:
        raise _unknown(sweep_id)
    return row


def _num_records(connection: Connection, pk: int) -> int:
    counted = select(func.count()).where(sweep_journal.c.sweep_pk == pk)
    return int(connection.execute(counted).scalar_one())


def _put(connection: Connection, pk: int, trial: Trial) -> None:
    values = trial.model_dump() | {"params": json.dumps(trial.params)}
    same = (sweep_trials.c.sweep_pk == pk) & (sweep_trials.c.number == trial.number)
    if not connection.execute(update(sweep_trials).where(same).values(**values)).rowcount:
        connection.execute(insert(sweep_trials).values(sweep_pk=pk, **values))


def _unknown(sweep_id: str) -> NotFoundError:
    return NotFoundError(f"There is no sweep {sweep_id!r}.", next_step="List the sweeps: tunix-rt tune list")
