"""`tunix-rt traces …`: collect and check."""

from typing import Annotated
from uuid import UUID

import typer

from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import print_json, say
from tunix_rt.cli import filters, traces_view
from tunix_rt.core.store_types import TraceOrder
from tunix_rt.db.traces import TraceRepository
from tunix_rt.services import traces as trace_service
from tunix_rt.services.filtering import build_filter

TraceId = Annotated[UUID, typer.Argument(help="Id of a stored trace.")]


def list_traces(
    source: filters.Source = None,
    meta: filters.MetaPairs = [],  # noqa: B006
    tag: filters.Tags = [],  # noqa: B006
    min_score: filters.MinScore = None,
    max_score: filters.MaxScore = None,
    code: filters.WithCodes = [],  # noqa: B006
    without_code: filters.WithoutCodes = [],  # noqa: B006
    query: filters.Search = None,
    order: Annotated[TraceOrder, typer.Option(help="By when they were stored, or by score.")] = "newest",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many to show.")] = 20,
    offset: Annotated[int, typer.Option(min=0, help="How many to skip.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Show stored traces."""
    criteria = build_filter(
        source=source,
        meta=meta,
        tags=tag,
        min_score=min_score,
        max_score=max_score,
        codes=code,
        without_codes=without_code,
        query=query,
    )
    with opened_home() as opened:
        page = trace_service.list_traces(
            TraceRepository(opened.database), criteria, limit=limit, offset=offset, order=order
        )
    print_json(page) if as_json else traces_view.print_list(page)


def show(trace_id: TraceId, as_json: JsonFlag = False) -> None:
    """Show one trace with its steps and what the linter says of them."""
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
    """Line up the steps of two traces."""
    with opened_home() as opened:
        comparison = trace_service.compare_stored(TraceRepository(opened.database), base, other)
    print_json(comparison) if as_json else traces_view.print_comparison(comparison)


def delete(trace_id: TraceId, as_json: JsonFlag = False) -> None:
    """Remove one trace; datasets built from it keep their copy."""
    with opened_home() as opened:
        TraceRepository(opened.database).delete(trace_id)
    print_json({"deleted": str(trace_id)}) if as_json else say(f"Deleted {trace_id}.")
