"""/api/datasets and its X-ray."""

from typing import Annotated

from fastapi import APIRouter, Depends, File, Form, Query, Response, UploadFile, status
from fastapi.responses import HTMLResponse, PlainTextResponse, StreamingResponse

from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import CheckedRoute, Limit, Offset, OpenHome, Word
from tunix_rt.base.http.transfers import download, saved_upload, text_answer
from tunix_rt.datasets import service as dataset_service
from tunix_rt.datasets.build import DatasetPreview, build_from_store, preview_dataset
from tunix_rt.datasets.diff import DatasetDiff, diff_datasets
from tunix_rt.datasets.ingest import IngestReport, ingest_file
from tunix_rt.datasets.service import (
    DatasetHistograms,
    DatasetVerdict,
    ExportFormat,
    dataset_histograms,
    open_export,
    verify_dataset,
)
from tunix_rt.datasets.types import (
    NAME_PATTERN,
    SPLIT_PATTERN,
    VERSION_PATTERN,
    BuildOutcome,
    DatasetManifest,
    DatasetSpec,
)
from tunix_rt.datasets.xray.inspect import ModelChoice, XrayOptions, xray_dataset
from tunix_rt.datasets.xray.report import LossOn, XrayReport, page_policy, xray_html
from tunix_rt.traces.importer import ImportOptions
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle

router = APIRouter(
    prefix="/api/datasets", tags=["datasets"], responses=error_responses(), route_class=CheckedRoute
)

Split = Annotated[str | None, Query(pattern=SPLIT_PATTERN)]


@router.post(
    "/build",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(400, 404, 409) | {200: {"model": BuildOutcome}},
    response_model_exclude_none=True,
)
def build_dataset(spec: DatasetSpec, home: OpenHome, response: Response) -> BuildOutcome:
    """Build a dataset from stored traces. 201 when it is new, 200 when it exists with the same content.

    409 if the key exists with different content, 404 if the parent is unknown, 422 if nothing matches or a
    row overlaps with an eval set.
    """
    outcome = build_from_store(home, spec)
    response.status_code = status.HTTP_201_CREATED if outcome.status == "created" else status.HTTP_200_OK
    return outcome


@router.post("/preview", responses=error_responses(400))
def preview(spec: DatasetSpec, home: OpenHome) -> DatasetPreview:
    """Count the rows that a build of this spec would include, and those it would remove. Nothing is built."""
    return preview_dataset(home, spec)


@router.post("/ingest", status_code=status.HTTP_201_CREATED, responses=error_responses(400, 409, 501))
def ingest(
    file: Annotated[UploadFile, File(description="JSONL, CSV, TSV or Parquet; see docs/importing.md")],
    home: OpenHome,
    source_name: Annotated[str | None, Form(min_length=1, max_length=200)] = None,
    dataset_name: Annotated[str | None, Form(pattern=NAME_PATTERN)] = None,
    dataset_version: Annotated[str, Form(pattern=VERSION_PATTERN)] = "v1",
) -> IngestReport:
    """Store the traces of an uploaded file, all or none. With `dataset_name`, build a dataset from them.

    409 if the dataset exists with different content, 422 with the first invalid rows if any is invalid.
    """
    spec = DatasetSpec(dataset_name=dataset_name, dataset_version=dataset_version) if dataset_name else None
    options = ImportOptions(source=source_name)
    with saved_upload(file) as path:
        return ingest_file(home, path, options=options, spec=spec, name=file.filename or "upload")


@router.get("")
def list_datasets(
    home: OpenHome,
    limit: Limit = 20,
    offset: Offset = 0,
    text: Annotated[Word, Query(description="text in the key")] = None,
) -> dataset_service.DatasetList:
    """A page of datasets by key, with the total."""
    return dataset_service.list_datasets(home.settings.datasets_dir, limit=limit, offset=offset, text=text)


@router.get("/{dataset_key}", responses=error_responses(404), response_model_exclude_none=True)
def get_dataset(dataset_key: str, home: OpenHome) -> DatasetManifest:
    """The manifest of a dataset. 404 if unknown."""
    return dataset_service.get_dataset(home.settings.datasets_dir, dataset_key)


@router.get(
    "/{dataset_key}/card",
    response_class=Response,
    responses=error_responses(404) | text_answer("text/markdown"),
)
def get_card(dataset_key: str, home: OpenHome) -> PlainTextResponse:
    """The dataset card as Markdown for the Hugging Face Hub. 404 if unknown."""
    card = dataset_service.get_card(home.settings.datasets_dir, dataset_key)
    return PlainTextResponse(card, media_type="text/markdown")


@router.get("/{dataset_key}/rows", responses=error_responses(404))
def read_rows(
    dataset_key: str, home: OpenHome, split: Split = None, limit: Limit = 20, offset: Offset = 0
) -> dataset_service.RowPage:
    """A page of the rows of a split (by default the first one). 404 if dataset or split is unknown."""
    return dataset_service.read_rows(
        home.settings.datasets_dir, dataset_key, split=split, limit=limit, offset=offset
    )


@router.get("/{dataset_key}/histograms", responses=error_responses(404))
def histograms(dataset_key: str, home: OpenHome, split: Split = None) -> DatasetHistograms:
    """Steps, lengths and scores of a split (by default the first one) in bins. 404 if either is unknown."""
    return dataset_histograms(home, dataset_key, split)


@router.get("/{dataset_key}/diff", responses=error_responses(404))
def diff(
    dataset_key: str,
    other: Annotated[str, Query(description="the later dataset")],
    home: OpenHome,
    limit: Limit = 20,
    offset: Offset = 0,
) -> DatasetDiff:
    """The changes from this dataset to `other`. 404 if either is unknown."""
    return diff_datasets(home.settings.datasets_dir, dataset_key, other, limit=limit, offset=offset)


@router.post("/{dataset_key}/verify", responses=error_responses(404))
def verify(dataset_key: str, home: OpenHome) -> DatasetVerdict:
    """Hash and parse all files and compare them with the manifest. 404 if unknown."""
    return verify_dataset(home.settings.datasets_dir, dataset_key)


@router.get(
    "/{dataset_key}/export.jsonl",
    responses=error_responses(404) | {200: {"content": {"application/x-ndjson": {}}}},
    response_class=StreamingResponse,
)
def export_jsonl(
    dataset_key: str,
    home: OpenHome,
    export_format: Annotated[ExportFormat, Query(alias="format")] = "trace",
    split: Split = None,
) -> StreamingResponse:
    """The rows, one JSON object per line. 404 if unknown, 422 if a row does not fit the format."""
    datasets_dir = home.settings.datasets_dir
    file = open_export(datasets_dir, dataset_key, split=split, export_format=export_format, file_type="jsonl")
    return download(file, f"{dataset_key}.{export_format}.jsonl", "application/x-ndjson")


@router.get(
    "/{dataset_key}/export.parquet",
    responses=error_responses(404, 501) | {200: {"content": {"application/vnd.apache.parquet": {}}}},
    response_class=StreamingResponse,
)
def export_parquet(
    dataset_key: str,
    home: OpenHome,
    export_format: Annotated[ExportFormat, Query(alias="format")] = "trace",
    split: Split = None,
) -> StreamingResponse:
    """The rows as Parquet. 404 if unknown, 422 if a row does not fit the format, 501 without the extra."""
    datasets_dir = home.settings.datasets_dir
    file = open_export(
        datasets_dir, dataset_key, split=split, export_format=export_format, file_type="parquet"
    )
    return download(file, f"{dataset_key}.{export_format}.parquet", "application/vnd.apache.parquet")


@router.delete("/{dataset_key}", status_code=status.HTTP_204_NO_CONTENT, responses=error_responses(404, 409))
def delete_dataset(dataset_key: str, home: OpenHome) -> None:
    """Delete a dataset. Its traces are kept. 404 if unknown, 409 while a run uses it."""
    dataset_service.delete_dataset(home.settings, dataset_key)


MAX_ROW_LENGTH = 131_072

xray_router = APIRouter(prefix="/api/datasets", tags=["datasets"], responses=error_responses(404))


def _report(
    dataset_key: str,
    home: OpenHome,
    model: Annotated[
        str, Query(max_length=200, description="built-in name, or the hub id of a cached model")
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
    """The report for the query parameters."""
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


@xray_router.get("/{dataset_key}/xray")
def get_xray(report: Report) -> XrayReport:
    """Each token as trained, masked or padding. 404 if the dataset, model, template or example is unknown."""
    return report


@xray_router.get("/{dataset_key}/xray.html", response_class=Response, responses=text_answer("text/html"))
def get_xray_page(dataset_key: str, report: Report) -> HTMLResponse:
    """The same as a self-contained page."""
    # Sandboxed: whatever runs there cannot send requests with the session of the user.
    policy = f"{page_policy()}; frame-ancestors 'none'; sandbox allow-scripts"
    return HTMLResponse(xray_html(report, title=dataset_key), headers={"content-security-policy": policy})
