"""One inverted index answers both full-text search and `meta` filters, alike on both databases.

A trace is indexed under its words and under one token for each label of its `meta`. The words are cut here,
not by the databases, whose parsers disagree about numbers and punctuation. SQLite keeps the tokens in FTS5,
PostgreSQL as the lexemes of a tsvector.
"""

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Select, cast, column, literal_column, select, table, text
from sqlalchemy.dialects.postgresql import TSQUERY
from sqlalchemy.sql.elements import ColumnElement

from tunix_rt.core.trace import Trace, labels_of
from tunix_rt.db.bulk import insert_rows

_WORD = re.compile(r"[^\W_]+")
_ASCII_SEPARATORS = bytes(code if code < 128 and chr(code).isalnum() else ord(" ") for code in range(256))
# A private-use character: FTS5 takes it for a letter, and no word has it, so labels and words never meet.
_LABEL_MARK = "\ue000"
MAX_WORD_CHARS = 64
MAX_WORDS = 20_000
"""Distinct words beyond this many in one trace are not found by search (a tsvector has a limit)."""

trace_index = table("trace_index", column("pk"), column("rowid"), column("tokens"))


def tokens_of(trace: Trace) -> list[str]:
    """What a trace is found by: its distinct words, and its labels."""
    parts = [trace.prompt, *(step.content for step in trace.steps), trace.final_answer]
    words = dict.fromkeys(_words("\n".join(parts).casefold()))
    tokens = [word if len(word) <= MAX_WORD_CHARS else word[:MAX_WORD_CHARS] for word in words]
    return tokens[:MAX_WORDS] + [label_token(name, value) for name, value in labels_of(trace)]


def _words(folded: str) -> list[str]:
    if folded.isascii():
        # The same words three times faster, and most text is of this kind.
        return folded.encode().translate(_ASCII_SEPARATORS).decode().split()
    return _WORD.findall(folded)


@lru_cache(maxsize=10_000)
def label_token(name: str, value: str) -> str:
    """A label as one token; names and values of any length and alphabet become 16 characters."""
    digest = hashlib.blake2b(f"{name}\0{value}".encode(), digest_size=8).hexdigest()
    return _LABEL_MARK + digest


def query_tokens(query: str) -> list[str]:
    """The words that must all occur; a `*` right after a word makes it a prefix."""
    found = re.findall(r"([^\W_]+)(\*?)", query.casefold())
    return [word[:MAX_WORD_CHARS] + star for word, star in found]


def add_to_index(connection: Connection, rows: Iterable[tuple[int, list[str]]]) -> None:
    """Index new traces: (pk, tokens)."""
    if connection.dialect.name == "sqlite":
        insert_rows(connection, "trace_index", ("rowid", "tokens"), [(pk, " ".join(t)) for pk, t in rows])
    else:
        quoted = [(pk, " ".join(f"'{token}'" for token in tokens)) for pk, tokens in rows]
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
