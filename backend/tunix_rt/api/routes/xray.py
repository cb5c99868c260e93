"""The X-ray of a dataset, as data or as a page."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import HTMLResponse

from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import OpenHome
from tunix_rt.base.http.transfers import text_answer
from tunix_rt.core.dataset_spec import SPLIT_PATTERN
from tunix_rt.core.xray import LossOn, XrayReport
from tunix_rt.services.dataset_xray import ModelChoice, xray_dataset
from tunix_rt.services.xray import XrayOptions
from tunix_rt.services.xray_html import xray_html
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle

MAX_ROW_LENGTH = 131_072

router = APIRouter(prefix="/api/datasets", tags=["datasets"], responses=error_responses(404))


def _report(
    dataset_key: str,
    home: OpenHome,
    model: Annotated[
        str, Query(max_length=200, description="built-in name, or a hub id that is cached")
    ] = "tiny",
    template: Annotated[str | None, Query(max_length=64, description="name of a built-in template")] = None,
    split: Annotated[str | None, Query(pattern=SPLIT_PATTERN)] = None,
    markup: MarkupStyle = DEFAULT_MARKUP,
    row_length: Annotated[int | None, Query(ge=2, le=MAX_ROW_LENGTH)] = None,
    packed: bool = False,
    index: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
    rows: Annotated[int, Query(ge=1, le=50)] = 1,
    max_examples: Annotated[int, Query(ge=1, le=10_000)] = 1_000,
    loss_on: LossOn = "completion",
) -> XrayReport:
    """The report that the query string asks for."""
    choice = ModelChoice(model=model, template=template, markup=markup, is_remote=True)
    options = XrayOptions(
        row_length=row_length,
        packed=packed,
        index=index,
        max_rows=rows,
        max_examples=max_examples,
        loss_on=loss_on,
    )
    return xray_dataset(home.settings.datasets_dir, dataset_key, choice, options, split=split)


Report = Annotated[XrayReport, Depends(_report)]


@router.get("/{dataset_key}/xray")
def get_xray(report: Report) -> XrayReport:
    """Each token as trained, masked or padding. 404 if the dataset, model, template or example is unknown."""
    return report


@router.get("/{dataset_key}/xray.html", response_class=Response, responses=text_answer("text/html"))
def get_xray_page(dataset_key: str, report: Report) -> HTMLResponse:
    """The same as a self-contained page."""
    return HTMLResponse(xray_html(report, title=dataset_key))
