"""Trace storage in SQL: pages, filters and full-text search.

SQLite stores the tokens of a trace in an FTS5 index, PostgreSQL in a tsvector.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
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
    """Remove a trace from the index. PostgreSQL does this by itself when the trace is deleted."""
    if connection.dialect.name == "sqlite":
        connection.execute(
            text("INSERT INTO trace_index (trace_index, rowid, tokens) VALUES ('delete', :pk, :tokens)"),
            {"pk": pk, "tokens": " ".join(tokens_of(trace))},
        )


Selected = tuple[Select[Any], ColumnElement[int]]


def select_traces(criteria: TraceFilter, dialect: str) -> Selected:
    """Select the traces that match (a select without columns), and the key to order by.

    It joins the traces table only where the filter needs it; search and labels need only the index.
    """
    selected, key = _indexed(criteria, dialect)
    if criteria.needs_lint and key is not traces.c.pk:
        selected = selected.join(traces, traces.c.pk == key)
    conditions = [_has_code(code, key) for code in criteria.with_codes]
    if criteria.without_codes:
        conditions.append(traces.c.score.is_not(None))
        conditions += [~_has_code(code, key) for code in criteria.without_codes]
    if criteria.min_score is not None:
        conditions.append(traces.c.score >= criteria.min_score)
    if criteria.max_score is not None:
        conditions.append(traces.c.score <= criteria.max_score)
    return selected.where(*conditions), key


def unscored_like(criteria: TraceFilter, dialect: str, linter_version: str | None) -> Selected:
    """Traces that match `criteria` apart from its lint conditions and were not scored by this linter version.

    Without a version: traces that no linter version has scored.
    """
    selected, key = _indexed(criteria, dialect)
    if key is not traces.c.pk:
        selected = selected.join(traces, traces.c.pk == key)
    version = traces.c.linter_version
    unscored = (
        version.is_(None) if linter_version is None else or_(version.is_(None), version != linter_version)
    )
    return selected.where(unscored), key


def _indexed(criteria: TraceFilter, dialect: str) -> Selected:
    """Select the traces with the labels and words, by the index if there are any."""
    tokens = [label_token(name, value) for name, value in criteria.required_labels()]
    if criteria.query is not None:
        words = query_tokens(criteria.query)
        if not words:
            raise InvalidInputError(
                "The search text has no word in it.",
                next_step="Search for letters or digits, e.g. query=apples",
            )
        tokens += words
    if not tokens:
        return select().select_from(traces), traces.c.pk
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


def _has_code(code: str, key: ColumnElement[int]) -> ColumnElement[bool]:
    return exists().where(trace_lint_codes.c.pk == key, trace_lint_codes.c.code == code)


COUNT_UP_TO = 10_000
"""Totals of filtered lists are exact up to this; counting further would slow down every page."""


def keys_of_page(
    selected: Selected, order: TraceOrder, *, limit: int, offset: int, total: int | None
) -> Select[Any]:
    """The keys of the page, as a column `pk`; `total` is None if the list was not counted to its end."""
    query, key = selected
    keys = query.add_columns(key.label("pk"))
    if order == "newest" and total is not None and offset > total // 2:
        # Scan from the nearer end.
        num_after = max(total - offset - limit, 0)
        return keys.order_by(key).limit(max(min(limit, total - offset), 0)).offset(num_after)
    if order == "newest":
        keys = keys.order_by(key.desc())
    elif order == "oldest":
        keys = keys.order_by(key)
    else:
        if key is not traces.c.pk:
            # The index has no scores; they are in the traces table.
            keys = select(traces.c.pk).where(traces.c.pk.in_(keys))
        keys = keys.order_by(*sorted_by(order))
    return keys.limit(limit).offset(offset)


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


def count(connection: Connection, selected: Select[Any], key: ColumnElement[int] | None) -> tuple[int, bool]:
    """The number of selected traces, and whether it is exact.

    With a key, counting stops at `COUNT_UP_TO`; without one, it is exact.
    """
    if key is None:
        everything = selected.with_only_columns(func.count(), maintain_column_froms=True)
        return int(connection.execute(everything).scalar_one()), True
    some = selected.add_columns(key.label("pk")).limit(COUNT_UP_TO + 1).subquery()
    num_counted = int(connection.execute(select(func.count()).select_from(some)).scalar_one())
    return min(num_counted, COUNT_UP_TO), num_counted <= COUNT_UP_TO


_CHUNK = 500


class TraceRepository:
    """Traces in SQLite or PostgreSQL. Every method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add_many(self, items: Sequence[tuple[Trace, str]]) -> AddResult:
        """Store (trace, canonical JSON) pairs, all or none; identical traces are stored once."""
        num_added = len(self.add_prepared([prepared(trace, canonical) for trace, canonical in items]))
        return AddResult(num_added=num_added, num_present=len(items) - num_added)

    def add_prepared(self, entries: Sequence[PreparedTrace]) -> set[UUID]:
        """Store traces, all or none; returns the ids of the new ones."""
        # All writers use one order, so that two imports of the same file cannot deadlock.
        distinct = sorted({entry.id_hex: entry for entry in entries}.items())
        with writing(self._engine) as connection:
            now = stored_value(connection, traces.c.created_at, datetime.now(UTC))
            columns = ("id", "created_at", "trace_version", "prompt_start", "num_steps", "source")
            rows = [
                (entry.id_hex, now, entry.trace_version, entry.prompt_start, entry.num_steps, entry.source)
                for _, entry in distinct
            ]
            added = insert_new(connection, traces, columns, rows)
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
        """The distinct finding codes of the last lint report of this trace."""
        codes = select(trace_lint_codes.c.code).join(traces, traces.c.pk == trace_lint_codes.c.pk)
        with reading(self._engine) as connection:
            rows = connection.execute(codes.where(traces.c.id == trace_id).order_by(trace_lint_codes.c.code))
            return tuple(rows.scalars())

    def created_at(self, ids: Sequence[UUID]) -> dict[UUID, datetime]:
        """When each of these traces was stored."""
        return self._values_of(ids, traces.c.created_at)

    def scores(self, ids: Sequence[UUID]) -> dict[UUID, float]:
        """The linter scores of these traces, for those that are stored and scored."""
        return self._values_of(ids, traces.c.score)

    def _values_of(self, ids: Sequence[UUID], value: ColumnElement[Any]) -> dict[UUID, Any]:
        """One column of these traces by id, where it is not null."""
        values: dict[UUID, Any] = {}
        with reading(self._engine) as connection:
            for start in range(0, len(ids), _CHUNK):
                selected = traces.c.id.in_(ids[start : start + _CHUNK]) & value.is_not(None)
                rows = connection.execute(select(traces.c.id, value).where(selected))
                values.update((key, found) for key, found in rows)
        return values

    def list(
        self, criteria: TraceFilter, *, limit: int, offset: int, order: TraceOrder = "newest"
    ) -> TracePage:
        """A page of traces in this order."""
        dialect = self._engine.dialect.name
        selected, key = select_traces(criteria, dialect)
        with reading(self._engine) as connection:
            total, total_is_exact = count(connection, selected, None if criteria == TraceFilter() else key)
            # Keys first, so that a large offset skips index entries and not rows.
            keys = keys_of_page(
                (selected, key), order, limit=limit, offset=offset, total=total if total_is_exact else None
            )
            summary_columns = [traces.c[name] for name in TraceSummary.model_fields]
            page = select(*summary_columns).join(keys.subquery("keys"), text("keys.pk = traces.pk"))
            rows = connection.execute(page.order_by(*sorted_by(order))).all()
            num_unscored = 0
            if criteria.needs_lint:
                num_unscored, _ = count(connection, *unscored_like(criteria, dialect, None))
            return TracePage(
                data=tuple(TraceSummary.model_validate(row._mapping) for row in rows),
                total=total,
                total_is_exact=total_is_exact,
                num_unscored=num_unscored,
            )

    def iter_selected(self, criteria: TraceFilter) -> Generator[StoredTrace, None, None]:
        """Stream every selected trace in id order, in constant memory.

        The generator holds a connection until it is exhausted or closed; see `contextlib.closing`.
        """
        selected, key = select_traces(criteria, self._engine.dialect.name)
        keys = selected.add_columns(key.label("pk")).subquery()
        query = _with_body().join(keys, keys.c.pk == traces.c.pk).order_by(traces.c.id)
        with reading(self._engine) as connection:
            # Closed explicitly: otherwise, a consumer that stops early leaves a cursor open on the server.
            with connection.execution_options(yield_per=_CHUNK).execute(query) as streamed:
                yield from map(_stored, streamed)

    def iter_unscored(self, criteria: TraceFilter, linter_version: str) -> Iterator[StoredTrace]:
        """Traces that `criteria` could select after this linter version has scored them."""
        selected, key = unscored_like(criteria, self._engine.dialect.name, linter_version)
        last_pk = 0
        while True:
            keys = selected.add_columns(key.label("pk")).where(key > last_pk).order_by(key).limit(_CHUNK)
            page = _with_body().join(keys.subquery("keys"), text("keys.pk = traces.pk"))
            with reading(self._engine) as connection:
                rows = connection.execute(page.order_by(traces.c.pk)).all()
            if not rows:
                return
            yield from map(_stored, rows)
            last_pk = rows[-1].pk

    def count_unscored(self, criteria: TraceFilter, linter_version: str) -> int:
        """The number of traces that `iter_unscored` yields."""
        selected, _ = unscored_like(criteria, self._engine.dialect.name, linter_version)
        with reading(self._engine) as connection:
            return count(connection, selected, None)[0]

    def save_reports(self, reports: Sequence[tuple[UUID, LintReport]]) -> None:
        """Store lint reports, replacing earlier ones of the same traces."""
        scored_at = datetime.now(UTC)
        by_id = dict(reports)
        with writing(self._engine) as connection:
            # Locked, because another process may score or delete the same traces.
            selected = select(traces.c.pk, traces.c.id).where(traces.c.id.in_(by_id)).order_by(traces.c.pk)
            rows = connection.execute(selected.with_for_update())
            known = [(row.pk, by_id[row.id]) for row in rows]
            if known:
                _replace_reports(connection, known, scored_at)

    def get_report(self, trace_id: UUID) -> LintReport | None:
        """The last lint report of this trace, or None."""
        joined = select(trace_reports.c.report).join(traces, traces.c.pk == trace_reports.c.pk)
        with reading(self._engine) as connection:
            report = connection.execute(joined.where(traces.c.id == trace_id)).scalar_one_or_none()
        return None if report is None else LintReport.model_validate_json(report)

    def delete(self, trace_id: UUID) -> None:
        """Delete a trace with its reports and index entries, or raise NotFoundError."""
        with writing(self._engine) as connection:
            selected = _with_body().where(traces.c.id == trace_id).with_for_update(of=traces)
            row = connection.execute(selected).one_or_none()
            if row is None:
                raise _no_trace(trace_id)
            remove_from_index(connection, row.pk, Trace.model_validate_json(row.canonical))
            connection.execute(delete(traces).where(traces.c.pk == row.pk))


def _with_body() -> Select[Any]:
    return select(*traces.c, trace_bodies.c.canonical).join(trace_bodies, trace_bodies.c.pk == traces.c.pk)


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


def _stored(row: Row[Any]) -> StoredTrace:
    return StoredTrace.model_construct(
        id=row.id, created_at=row.created_at, canonical=row.canonical, score=row.score
    )


def _no_trace(trace_id: UUID) -> NotFoundError:
    return NotFoundError(
        f"There is no trace {trace_id}.", next_step="List what is stored: tunix-rt traces list"
    )
