"""The trace repository: stores, finds, lists, scores and deletes traces."""

from collections.abc import Generator, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Engine, Row, Select, delete, insert, select, text

from tunix_rt.base.db.engine import reading, writing
from tunix_rt.base.db.schema import trace_bodies, trace_lint_codes, trace_reports, traces
from tunix_rt.base.db.statements import insert_new, insert_rows, stored_value
from tunix_rt.base.errors import NotFoundError
from tunix_rt.core.linting.findings import LintReport
from tunix_rt.core.prepared import PreparedTrace, prepared
from tunix_rt.core.store_types import AddResult, StoredTrace, TraceFilter, TraceOrder, TracePage, TraceSummary
from tunix_rt.core.trace import Trace
from tunix_rt.db.filters import select_traces, unscored_like
from tunix_rt.db.search import add_to_index, remove_from_index
from tunix_rt.db.trace_pages import Window, count, keys_of_page, sorted_by

_CHUNK = 500


class TraceRepository:
    """Traces in SQLite or PostgreSQL. Every method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, trace: Trace) -> tuple[StoredTrace, bool]:
        """Store one trace; True when it was not there before."""
        entry = prepared(trace)
        added = self.add_prepared([entry])
        return self.get(UUID(hex=entry.id_hex)), bool(added)

    def add_many(self, items: Sequence[tuple[Trace, str]]) -> AddResult:
        """Store (trace, canonical JSON) pairs, all or none; identical traces are stored once."""
        num_added = len(self.add_prepared([prepared(trace, canonical) for trace, canonical in items]))
        return AddResult(num_added=num_added, num_present=len(items) - num_added)

    def add_prepared(self, entries: Sequence[PreparedTrace]) -> set[UUID]:
        """Store traces, all or none; gives the ids of those that were not there before."""
        # One order for every writer: two imports of the same file cannot deadlock on each other's rows.
        distinct = sorted({entry.id_hex: entry for entry in entries}.items())
        with writing(self._engine) as connection:
            added = _insert_traces(connection, [entry for _, entry in distinct])
            new = [(added[id_hex], entry) for id_hex, entry in distinct if id_hex in added]
            insert_rows(
                connection, "trace_bodies", ("pk", "canonical"), [(pk, entry.canonical) for pk, entry in new]
            )
            add_to_index(connection, [(pk, entry.tokens) for pk, entry in new])
        return {UUID(hex=id_hex) for id_hex in added}

    def get(self, trace_id: UUID) -> StoredTrace:
        """The trace with this id, or NotFoundError."""
        with reading(self._engine) as connection:
            row = connection.execute(_with_body().where(traces.c.id == trace_id)).one_or_none()
            if row is None:
                raise _no_trace(trace_id)
            return _stored(row)

    def lint_codes(self, trace_id: UUID) -> tuple[str, ...]:
        """Which findings the linter made in this trace when it was last asked, each once."""
        codes = select(trace_lint_codes.c.code).join(traces, traces.c.pk == trace_lint_codes.c.pk)
        with reading(self._engine) as connection:
            found = connection.execute(codes.where(traces.c.id == trace_id).order_by(trace_lint_codes.c.code))
            return tuple(found.scalars())

    def created_at(self, ids: Sequence[UUID]) -> dict[UUID, datetime]:
        """When each of these traces was stored."""
        with reading(self._engine) as connection:
            found: dict[UUID, datetime] = {}
            for start in range(0, len(ids), _CHUNK):
                chunk = ids[start : start + _CHUNK]
                query = select(traces.c.id, traces.c.created_at).where(traces.c.id.in_(chunk))
                found.update({row.id: row.created_at for row in connection.execute(query)})
            return found

    def scores(self, ids: Sequence[UUID]) -> dict[UUID, float]:
        """The linter's scores of those of these traces that are stored and were judged."""
        found: dict[UUID, float] = {}
        with reading(self._engine) as connection:
            for start in range(0, len(ids), _CHUNK):
                chosen = traces.c.id.in_(ids[start : start + _CHUNK]) & traces.c.score.is_not(None)
                query = select(traces.c.id, traces.c.score).where(chosen)
                found.update({row.id: row.score for row in connection.execute(query)})
        return found

    def list(
        self, criteria: TraceFilter, *, limit: int, offset: int, order: TraceOrder = "newest"
    ) -> TracePage:
        """A page of traces in this order."""
        dialect = self._engine.dialect.name
        chosen, key = select_traces(criteria, dialect)
        with reading(self._engine) as connection:
            total, total_is_exact = count(connection, chosen, None if criteria == TraceFilter() else key)
            window = Window(order, limit, offset, total=total if total_is_exact else None)
            keys = keys_of_page(chosen, key, window)
            # Keys first: skipping a long way then reads an index, not the rows.
            page = select(*_summary_columns()).join(keys.subquery("keys"), text("keys.pk = traces.pk"))
            rows = connection.execute(page.order_by(*sorted_by(order))).all()
            num_unscored = 0
            if criteria.needs_lint:
                num_unscored, _ = count(connection, *unscored_like(criteria, dialect, None))
            return TracePage(
                data=tuple(_summary(row) for row in rows),
                total=total,
                total_is_exact=total_is_exact,
                num_unscored=num_unscored,
            )

    def iter_selected(self, criteria: TraceFilter) -> Generator[StoredTrace, None, None]:
        """Every chosen trace in the order of ids, streamed: memory does not grow with their number.

        It holds a connection until it is used up or closed: see `contextlib.closing`.
        """
        chosen, key = select_traces(criteria, self._engine.dialect.name)
        keys = chosen.add_columns(key.label("pk")).subquery()
        query = _with_body().join(keys, keys.c.pk == traces.c.pk).order_by(traces.c.id)
        with reading(self._engine) as connection:
            # Closed by name: whoever stops half way leaves a cursor open on the server otherwise.
            with connection.execution_options(yield_per=_CHUNK).execute(query) as streamed:
                yield from map(_stored, streamed)

    def iter_unscored(self, criteria: TraceFilter, linter_version: str) -> Iterator[StoredTrace]:
        """Traces that `criteria` could choose once this linter has judged them."""
        chosen, key = unscored_like(criteria, self._engine.dialect.name, linter_version)
        last_pk = 0
        while True:
            keys = chosen.add_columns(key.label("pk")).where(key > last_pk).order_by(key).limit(_CHUNK)
            page = _with_body().join(keys.subquery("keys"), text("keys.pk = traces.pk"))
            with reading(self._engine) as connection:
                rows = connection.execute(page.order_by(traces.c.pk)).all()
            if not rows:
                return
            yield from map(_stored, rows)
            last_pk = rows[-1].pk

    def count_unscored(self, criteria: TraceFilter, linter_version: str) -> int:
        """How many traces `iter_unscored` will give."""
        chosen, _ = unscored_like(criteria, self._engine.dialect.name, linter_version)
        with reading(self._engine) as connection:
            return count(connection, chosen, None)[0]

    def save_reports(self, reports: Sequence[tuple[UUID, LintReport]]) -> None:
        """Keep what the linter said about these traces, in place of what it said before."""
        scored_at = datetime.now(UTC)
        by_id = dict(reports)
        with writing(self._engine) as connection:
            # Locked: another process may judge or delete the same traces at this moment.
            chosen = select(traces.c.pk, traces.c.id).where(traces.c.id.in_(by_id)).order_by(traces.c.pk)
            found = connection.execute(chosen.with_for_update())
            known = [(row.pk, by_id[row.id]) for row in found]
            if known:
                _replace_reports(connection, known, scored_at)

    def get_report(self, trace_id: UUID) -> LintReport | None:
        """What the linter last said about this trace, if it was asked."""
        joined = select(trace_reports.c.report).join(traces, traces.c.pk == trace_reports.c.pk)
        with reading(self._engine) as connection:
            report = connection.execute(joined.where(traces.c.id == trace_id)).scalar_one_or_none()
        return None if report is None else LintReport.model_validate_json(report)

    def delete(self, trace_id: UUID) -> None:
        """Remove a trace and all that hangs on it, or NotFoundError."""
        with writing(self._engine) as connection:
            chosen = _with_body().where(traces.c.id == trace_id).with_for_update(of=traces)
            row = connection.execute(chosen).one_or_none()
            if row is None:
                raise _no_trace(trace_id)
            remove_from_index(connection, row.pk, Trace.model_validate_json(row.canonical))
            connection.execute(delete(traces).where(traces.c.pk == row.pk))


def _with_body() -> Select[Any]:
    return select(*traces.c, trace_bodies.c.canonical).join(trace_bodies, trace_bodies.c.pk == traces.c.pk)


def _insert_traces(connection: Connection, entries: list[PreparedTrace]) -> dict[str, int]:
    """Insert what is not there yet; the new traces' keys by id."""
    now = stored_value(connection, traces.c.created_at, datetime.now(UTC))
    columns = ("id", "created_at", "trace_version", "prompt_start", "num_steps", "source")
    rows = [
        (entry.id_hex, now, entry.trace_version, entry.prompt_start, entry.num_steps, entry.source)
        for entry in entries
    ]
    return insert_new(connection, traces, columns, rows)


def _replace_reports(
    connection: Connection, known: list[tuple[int, LintReport]], scored_at: datetime
) -> None:
    keys = [pk for pk, _ in known]
    connection.execute(delete(trace_reports).where(trace_reports.c.pk.in_(keys)))
    connection.execute(delete(trace_lint_codes).where(trace_lint_codes.c.pk.in_(keys)))
    connection.execute(
        insert(trace_reports),
        [{"pk": pk, "scored_at": scored_at, "report": report.model_dump_json()} for pk, report in known],
    )
    codes = [
        {"pk": pk, "code": code}
        for pk, report in known
        for code in dict.fromkeys(finding.code for finding in report.findings)
    ]
    if codes:
        connection.execute(insert(trace_lint_codes), codes)
    scores = text("UPDATE traces SET score = :score, linter_version = :version WHERE pk = :key")
    connection.execute(
        scores,
        [{"key": pk, "score": report.score, "version": report.linter_version} for pk, report in known],
    )


def _summary_columns() -> tuple[Any, ...]:
    columns = traces.c
    return (
        columns.id,
        columns.created_at,
        columns.trace_version,
        columns.prompt_start,
        columns.num_steps,
        columns.source,
        columns.score,
    )


def _summary(row: Row[Any]) -> TraceSummary:
    return TraceSummary.model_validate(row._mapping)


def _stored(row: Row[Any]) -> StoredTrace:
    return StoredTrace.model_construct(
        id=row.id, created_at=row.created_at, canonical=row.canonical, score=row.score
    )


def _no_trace(trace_id: UUID) -> NotFoundError:
    return NotFoundError(
        f"There is no trace {trace_id}.", next_step="List what is stored: tunix-rt traces list"
    )
