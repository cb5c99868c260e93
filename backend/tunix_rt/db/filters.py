"""A `TraceFilter` as SQL."""

from typing import Any

from sqlalchemy import ColumnElement, Select, exists, or_, select

from tunix_rt.base.db.schema import trace_lint_codes, traces
from tunix_rt.base.errors import InvalidInputError
from tunix_rt.core.search_tokens import label_token, query_tokens
from tunix_rt.core.store_types import TraceFilter
from tunix_rt.db.search import select_indexed

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
