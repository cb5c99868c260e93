"""The row formats that can be imported, their detection, and the conversion of a row to a trace."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pydantic import ValidationError

from tunix_rt.base.records import explain_validation_error
from tunix_rt.traces.formats.converters import (
    TRACE_COLUMNS,
    ColumnMap,
    trace_from_alpaca,
    trace_from_columns,
    trace_from_gsm8k,
    trace_from_messages,
    trace_from_prompt_completion,
    trace_from_sharegpt,
    trace_from_training_example,
    trace_from_tunix_sft,
)
from tunix_rt.traces.formats.solutions import UNMARKED_RULE, Row, RowError, metadata_of, parsed_json, rest_of
from tunix_rt.traces.types import Trace


@dataclass(frozen=True)
class RowOptions:
    """How to read the rows of one file."""

    row_format: str
    column_map: ColumnMap = field(default_factory=dict)
    keep_annotations: bool = False
    require_marker: bool = False
    drop_extra_columns: bool = False


@dataclass(frozen=True)
class RowFormat:
    """A row format: its required and optional keys, and its converter."""

    required: tuple[str, ...]
    optional: tuple[str, ...]
    convert: Callable[[Row, RowOptions], Trace]


def read_row(row: Row, row_options: RowOptions) -> Trace:
    """Convert a row to a trace.

    Raises:
        RowError: The row has no valid trace. No other error is raised, whatever the row contains.
    """
    row_format = ROW_FORMATS[row_options.row_format]
    if row_options.drop_extra_columns:
        known = tuple(row_options.column_map.values()) or (*row_format.required, *row_format.optional)
        row = {key: value for key, value in row.items() if key in known}
    try:
        trace = row_format.convert(row, row_options)
    except RowError:
        raise
    except ValidationError as error:
        raise RowError(explain_validation_error(error)) from error
    except ValueError as error:
        raise RowError(str(error)) from error
    if row_options.require_marker and trace.meta.get("answer_rule") == UNMARKED_RULE:
        raise RowError("has no answer marker (tags, \\boxed{}, ####, 'Answer:')")
    return trace


def detect_format(row: Row) -> str:
    """The name of the format that matches the keys of the row.

    Example:
        {"messages": […]} -> "messages"

    Raises:
        RowError: No format has these keys.
    """
    for name in ROW_FORMATS:
        if all(key in row for key in ROW_FORMATS[name].required) and _matches_values(name, row):
            return name
    keys = ", ".join(repr(key) for key in list(row)[:12])
    raise RowError(f"no known format has the keys {keys or '(none)'}")


def _matches_values(name: str, row: Row) -> bool:
    """Distinguish formats that have the same keys."""
    if name == "trace":
        return isinstance(row["steps"], list) and all(isinstance(step, dict) for step in row["steps"])
    if name == "gsm8k":
        return isinstance(row["answer"], str) and "####" in row["answer"]
    return True


def _from_trace(row: Row, row_options: RowOptions) -> Trace:
    steps, meta = row.get("steps"), row.get("meta")
    # Tables store nested values as JSON text.
    if isinstance(steps, str):
        row = {**row, "steps": parsed_json(steps, "steps")}
    if isinstance(meta, str) or meta is None:
        row = {**row, "meta": metadata_of(row, "meta")}
    return Trace.model_validate(row)


def _from_gsm8k(row: Row, row_options: RowOptions) -> Trace:
    trace = trace_from_gsm8k(row, keep_annotations=row_options.keep_annotations)
    meta = {**rest_of(row, ("question", "answer")), **trace.meta, "answer_rule": "hash"}
    return Trace.model_validate({**dict(trace), "meta": meta})


def _plain(convert: Callable[[Row], Trace]) -> Callable[[Row, RowOptions], Trace]:
    return lambda row, row_options: convert(row)


ROW_FORMATS: Mapping[str, RowFormat] = {
    "trace": RowFormat(("prompt", "steps", "final_answer"), ("trace_version", "meta"), _from_trace),
    "messages": RowFormat(("messages",), (), _plain(trace_from_messages)),
    "sharegpt": RowFormat(("conversations",), ("system",), _plain(trace_from_sharegpt)),
    "alpaca": RowFormat(("instruction", "output"), ("input", "system", "history"), _plain(trace_from_alpaca)),
    "tunix_sft": RowFormat(("prompts", "final_answer"), ("id", "metadata"), _plain(trace_from_tunix_sft)),
    "training_example": RowFormat(
        ("prompt", "response"), ("id", "metadata"), _plain(trace_from_training_example)
    ),
    "prompt_completion": RowFormat(("prompt", "completion"), (), _plain(trace_from_prompt_completion)),
    "gsm8k": RowFormat(("question", "answer"), (), _from_gsm8k),
    "columns": RowFormat(
        ("prompt", "steps", "final_answer"),
        (),
        lambda row, row_options: trace_from_columns(row, row_options.column_map or TRACE_COLUMNS),
    ),
}
