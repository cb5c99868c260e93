"""One inverted index answers both full-text search and `meta` filters, alike on both databases.

SQLite keeps the tokens of a trace in FTS5, PostgreSQL as the lexemes of a tsvector.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, cast, column, literal_column, select, table, text
from sqlalchemy.dialects.postgresql import TSQUERY

from tunix_rt.base.db.statements import insert_rows
from tunix_rt.core.search_tokens import tokens_of
from tunix_rt.core.trace import Trace

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
        key = trace_index.c.pk
        terms = " & ".join(f"'{token.rstrip('*')}'{':*' if token.endswith('*') else ''}" for token in tokens)
        matches = trace_index.c.tokens.op("@@")(cast(terms, TSQUERY))
    return select().select_from(trace_index).where(matches), key
