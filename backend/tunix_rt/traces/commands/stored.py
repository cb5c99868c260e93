"""tunix-rt traces list, show, compare, delete; the filter options that other commands share."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any
from uuid import UUID

import typer

from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import print_json, say
from tunix_rt.traces import service as trace_service
from tunix_rt.traces import views as traces_view
from tunix_rt.traces.service import build_filter
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import TraceFilter, TraceOrder

Source = Annotated[str | None, typer.Option(help="Only traces from this source.")]
MetaPairs = Annotated[list[str], typer.Option("--meta", help="key=value that must be in meta; repeatable.")]


def _filter_from_options(
    source: Source = None,
    meta: MetaPairs = [],  # noqa: B006
    tag: Annotated[list[str], typer.Option(help="Must be in meta.tags; repeatable.")] = [],  # noqa: B006
    min_score: Annotated[float | None, typer.Option(min=0, max=100, help="Lowest linter score.")] = None,
    max_score: Annotated[float | None, typer.Option(min=0, max=100, help="Highest linter score.")] = None,
    code: Annotated[list[str], typer.Option(help="Has this linter finding; repeatable.")] = [],  # noqa: B006
    without_code: Annotated[list[str], typer.Option(help="Lacks this linter finding; repeatable.")] = [],  # noqa: B006
    query: Annotated[str | None, typer.Option(help="Words that must all occur (word* for a prefix).")] = None,
) -> TraceFilter:
    return build_filter(
        source=source,
        meta=meta,
        tags=tag,
        min_score=min_score,
        max_score=max_score,
        codes=code,
        without_codes=without_code,
        query=query,
    )


_FILTER_OPTIONS = inspect.signature(_filter_from_options).parameters


def with_trace_filter(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the `criteria` parameter of a command with the options that select traces."""

    @functools.wraps(command)
    def with_options(**values: Any) -> None:
        options = {name: values.pop(name) for name in _FILTER_OPTIONS}
        command(criteria=_filter_from_options(**options), **values)

    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        parameters += _FILTER_OPTIONS.values() if parameter.name == "criteria" else [parameter]
    keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    # Typer inspects both.
    with_options.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in keyword_only}
    return with_options


TraceId = Annotated[UUID, typer.Argument(help="Id of a stored trace.")]


@with_trace_filter
def list_traces(
    *,
    criteria: TraceFilter,
    order: Annotated[TraceOrder, typer.Option(help="Order by time of storing, or by score.")] = "newest",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many to show.")] = 20,
    offset: Annotated[int, typer.Option(min=0, help="How many to skip.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """List stored traces."""
    with opened_home() as opened:
        page = trace_service.list_traces(
            TraceRepository(opened.database), criteria, limit=limit, offset=offset, order=order
        )
    print_json(page) if as_json else traces_view.print_list(page)


def show(trace_id: TraceId, as_json: JsonFlag = False) -> None:
    """Show one trace with its steps and linter findings."""
    with opened_home() as opened:
        detail = trace_service.get_trace(TraceRepository(opened.database), trace_id)
        report = TraceRepository(opened.database).get_report(trace_id)
    if as_json:
        print_json(
            detail.model_dump(mode="json") | {"report": report.model_dump(mode="json") if report else None}
        )
    else:
        traces_view.print_trace(detail, report)


def compare(base: TraceId, other: TraceId, as_json: JsonFlag = False) -> None:
    """Align and compare the steps of two traces."""
    with opened_home() as opened:
        comparison = trace_service.compare_stored(TraceRepository(opened.database), base, other)
    print_json(comparison) if as_json else traces_view.print_comparison(comparison)


def delete(trace_id: TraceId, as_json: JsonFlag = False) -> None:
    """Delete a trace. Datasets built from it keep their copy."""
    with opened_home() as opened:
        TraceRepository(opened.database).delete(trace_id)
    print_json({"deleted": str(trace_id)}) if as_json else say(f"Deleted {trace_id}.")
