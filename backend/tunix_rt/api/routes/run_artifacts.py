"""Files and metrics of runs."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Annotated, BinaryIO

from fastapi import APIRouter, Depends, Path, Request, Response

from tunix_rt.base.http.errors import ErrorBody, error_responses
from tunix_rt.base.http.routing import OpenHome, ThreadedRoute
from tunix_rt.base.http.transfers import file_response, pieces_response
from tunix_rt.engines.training.types import RUN_ID_PATTERN, MetricsLine, ValidationLine
from tunix_rt.services.runs import artifacts
from tunix_rt.services.runs.metrics_lines import metrics_array

router = APIRouter(
    prefix="/api/tunix/runs/{run_id}",
    tags=["run files"],
    responses=error_responses(404),
    route_class=ThreadedRoute,
)

RunId = Annotated[str, Path(pattern=RUN_ID_PATTERN)]
ArtifactPath = Annotated[str, Path(max_length=1024)]
_BINARY = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}


def _opened(run_id: RunId, path: ArtifactPath, home: OpenHome) -> Iterator[BinaryIO]:
    with artifacts.open_artifact(home, run_id, path) as file:
        yield file


@router.get("/metrics", response_model=list[MetricsLine | ValidationLine])
def get_metrics(run_id: RunId, home: OpenHome) -> Response:
    """Every line of metrics that holds so far, in order; none before the first. 404 if unknown."""
    return pieces_response(metrics_array(home, run_id), "application/json")


@router.get("/artifacts", response_model_exclude_none=True)
def list_artifacts(run_id: RunId, home: OpenHome) -> artifacts.ArtifactList:
    """The files of a run, in all of its folders, with the hashes that its manifest has. 404 if unknown."""
    return artifacts.list_artifacts(home, run_id)


@router.head("/artifacts/{path:path}/download", include_in_schema=False)
@router.get(
    "/artifacts/{path:path}/download",
    responses={200: _BINARY, 206: _BINARY, 416: {"model": ErrorBody}},
    response_class=Response,
)
def download_artifact(
    path: ArtifactPath, file: Annotated[BinaryIO, Depends(_opened)], request: Request
) -> Response:
    """A file of a run, or a range of it. 404 if unknown, 416 if it is shorter than that."""
    return file_response(request, file, PurePosixPath(path).name)
