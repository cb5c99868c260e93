"""SQL: traces, pages, filters, full-text search.

SQLite keeps the tokens of a trace in FTS5, PostgreSQL as the lexemes of a tsvector.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Row,
    Select,
    cast,
    column,
    delete,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    table,
    text,
)

from tunix_rt.base.db.engine import reading, writing
from tunix_rt.base.db.schema import trace_bodies, trace_lint_codes, trace_reports, traces
from tunix_rt.base.db.statements import insert_new, insert_rows, stored_value
from tunix_rt.base.errors import InvalidInputError, NotFoundError
from tunix_rt.traces.linter.findings import LintReport
from tunix_rt.traces.types import (
    AddResult,
    PreparedTrace,
    StoredTrace,
    Trace,
    TraceFilter,
    TraceOrder,
    TracePage,
    TraceSummary,
    label_token,
    prepared,
    query_tokens,
    tokens_of,
)

trace_index = table("trace_index", column("pk"), column("rowid"), column("tokens"))


def add_to_index(connection: Connection, rows: Iterable[tuple[int, str]]) -> None:
    """Index new traces: (pk, tokens separated by blanks)."""
    if connection.dialect.name == "sqlite":
        insert_rows(connection, "trace_index", ("rowid", "tokens"), list(rows))
    else:
        quoted = [(pk, "'" + tokens.replace(" ", "' '") + "'") for pk, tokens in rows if tokens]
        insert_rows(connection, "trace_index", ("pk", "tokens"), quoted)


def remove_from_index(connection: Connection, pk: int, trace: Trace) -> None:
    """Forget a trace; PostgreSQL does it by itself when the trace goes."""
    if connection.dialect.name == "sqlite":
        connection.execute(
            text("INSERT INTO trace_index (trace_index, rowid, tokens) VALUES ('delete', :pk, :tokens)"),
            {"pk": pk, "tokens": " ".join(tokens_of(trace))},
        )


def select_indexed(dialect: str, tokens: list[str]) -> tuple[Select[Any], ColumnElement[int]]:
    """The index entries that have all tokens: a select without columns, and the key of the traces."""
    if dialect == "sqlite":
        key: ColumnElement[int] = trace_index.c.rowid
        terms = " AND ".join(f'"{token.rstrip("*")}"{"*" if token.endswith("*") else ""}' for token in tokens)
        matches = literal_column("trace_index").op("MATCH")(terms)
    else:
        # Imported here: on SQLite nothing needs the other dialect.
        from sqlalchemy.dialects.postgresql import TSQUERY

        key = trace_index.c.pk
        terms = " & ".join(f"'{token.rstrip('*')}'{':*' if token.endswith('*') else ''}" for token in tokens)
        matches = trace_index.c.tokens.op("@@")(cast(terms, TSQUERY))
    return select().select_from(trace_index).where(matches), key


Chosen = tuple[Select[Any], ColumnElement[int]]


def select_traces(criteria: TraceFilter, dialect: str) -> Chosen:
    """A select over the chosen traces (add columns to it), and the key to order by.

    It reads the table of traces only where the filter needs it: search and labels are the index's own.
    """
    chosen, key = _indexed(criteria, dialect)
    if criteria.needs_lint and key is not traces.c.pk:
        chosen = chosen.join(traces, traces.c.pk == key)
    for condition in _lint_conditions(criteria, key):
        chosen = chosen.where(condition)
    return chosen, key


def unscored_like(criteria: TraceFilter, dialect: str, linter_version: str | None) -> Chosen:
    """Traces that fit `criteria` apart from its lint conditions and were not judged by this linter.

    With no version: those that no linter ever judged.
    """
    chosen, key = _indexed(criteria, dialect)
    if key is not traces.c.pk:
        chosen = chosen.join(traces, traces.c.pk == key)
    version = traces.c.linter_version
    unjudged = (
        version.is_(None) if linter_version is None else or_(version.is_(None), version != linter_version)
    )
    return chosen.where(unjudged), key


def _indexed(criteria: TraceFilter, dialect: str) -> Chosen:
    tokens = [label_token(name, value) for name, value in criteria.required_labels()]
    if criteria.query is not None:
        tokens += _words(criteria.query)
    if tokens:
        return select_indexed(dialect, tokens)
    return select().select_from(traces), traces.c.pk


def _words(query: str) -> list[str]:
    words = query_tokens(query)
    if not words:
        raise InvalidInputError(
            "The search text has no word in it.", next_step="Search for letters or digits, e.g. query=apples"
        )
    return words


def _lint_conditions(criteria: TraceFilter, key: ColumnElement[int]) -> list[ColumnElement[bool]]:
    conditions = [_has_code(code, key) for code in criteria.with_codes]
    if criteria.without_codes:
        conditions.append(traces.c.score.is_not(None))
        conditions += [~_has_code(code, key) for code in criteria.without_codes]
    if criteria.min_score is not None:
        conditions.append(traces.c.score >= criteria.min_score)
    if criteria.max_score is not None:
        conditions.append(traces.c.score <= criteria.max_score)
    return conditions


def _has_code(code: str, key: ColumnElement[int]) -> ColumnElement[bool]:
    return exists().where(trace_lint_codes.c.pk == key, trace_lint_codes.c.code == code)


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
