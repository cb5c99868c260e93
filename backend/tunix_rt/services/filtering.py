"""Filters from words that a person typed, the same for CLI and HTTP."""

from collections.abc import Sequence

from pydantic import ValidationError

from tunix_rt.base.errors import InvalidInputError, did_you_mean
from tunix_rt.base.records import explain_validation_error
from tunix_rt.core.linting.findings import CODES
from tunix_rt.core.store_types import TraceFilter


def build_filter(
    *,
    source: str | None = None,
    meta: Sequence[str] = (),
    tags: Sequence[str] = (),
    min_score: float | None = None,
    max_score: float | None = None,
    codes: Sequence[str] = (),
    without_codes: Sequence[str] = (),
    query: str | None = None,
) -> TraceFilter:
    """The filter that these words describe; `meta` holds `key=value` pairs.

    Raises:
        InvalidInputError: a pair without `=`, a finding that the linter does not have, or text that no
            trace can hold.
    """
    try:
        return TraceFilter(
            source=source,
            labels=dict(_key_and_value(pair) for pair in meta),
            tags=tuple(tags),
            min_score=min_score,
            max_score=max_score,
            with_codes=tuple(_known_code(code) for code in codes),
            without_codes=tuple(_known_code(code) for code in without_codes),
            query=query,
        )
    except ValidationError as error:
        raise InvalidInputError(
            f"This filter can match nothing: {explain_validation_error(error)}.",
            next_step="Correct the filter; /docs and `tunix-rt traces list --help` describe it.",
        ) from error


def _key_and_value(pair: str) -> tuple[str, str]:
    key, equals, value = pair.partition("=")
    if not (key and equals):
        raise InvalidInputError(
            f"{pair!r} is not of the form key=value.", next_step="For example: category=algebra"
        )
    return key, value


def _known_code(code: str) -> str:
    if code not in CODES:
        raise InvalidInputError(f"The linter has no finding {code!r}.", next_step=did_you_mean(code, CODES))
    return code
