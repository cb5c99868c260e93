"""/api/evidence."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import IO, Annotated

from fastapi import APIRouter, Depends, Path, Query, status
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import CheckedRoute, Limit, Offset, OpenHome
from tunix_rt.base.http.transfers import chunks
from tunix_rt.engines.training.types import RUN_ID_PATTERN
from tunix_rt.evidence import service as listing
from tunix_rt.evidence.pack import PackOptions, PackRequest, pack_evidence, run_in_home
from tunix_rt.evidence.types import EVIDENCE_ID_PATTERN, EvidenceManifest, EvidenceVerdict

router = APIRouter(
    prefix="/api/evidence", tags=["evidence"], responses=error_responses(), route_class=CheckedRoute
)

EvidenceId = Annotated[str, Path(pattern=EVIDENCE_ID_PATTERN)]
FilePath = Annotated[str, Path(max_length=1024)]
_MEDIA_TYPES = {
    ".html": "text/html",
    ".json": "application/json",
    **dict.fromkeys((".diff", ".jsonl", ".md", ".txt"), "text/plain"),
}
_FILE_TYPES = sorted({*_MEDIA_TYPES.values(), "application/octet-stream"})
# Whatever somebody may have put into a bundle: it runs nothing and asks nobody.
_SANDBOX_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "X-Content-Type-Options": "nosniff",
}
RunId = Annotated[str, Field(pattern=RUN_ID_PATTERN)]


def _open_file(evidence_id: EvidenceId, path: FilePath, home: OpenHome) -> Iterator[IO[bytes]]:
    with listing.open_file(home.settings, evidence_id, path) as file:
        yield file


class PackBody(BaseModel):
    """Which run is packed, and how much of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    run_id: RunId
    is_failure_report: bool = False
    """Pack a run that did not succeed, and say so on its face."""
    has_model: bool = False
    """Put the trained weights in."""
    has_dataset: bool = True
    """False: leave the rows out; their hashes stay."""


@router.get("", response_model_exclude_none=True)
def list_evidence(
    home: OpenHome,
    run_id: Annotated[str | None, Query(pattern=RUN_ID_PATTERN)] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> listing.EvidenceList:
    """A page of the bundles in the home directory, newest first; of one run when its id is given."""
    return listing.list_evidence(home.settings, run_id=run_id, limit=limit, offset=offset)


@router.post(
    "/pack",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(400, 404, 409),
    response_model_exclude_none=True,
)
def pack(body: PackBody, home: OpenHome) -> EvidenceManifest:
    """Pack a run, in place of its earlier bundle. 404 if unknown, 409 while it runs, 422 without proof."""
    request = PackRequest(
        run_dir=run_in_home(home.settings, body.run_id),
        is_failure_report=body.is_failure_report,
        options=PackOptions(has_model=body.has_model, has_dataset=body.has_dataset),
    )
    return pack_evidence(home.settings, request).manifest


@router.get("/{evidence_id}", responses=error_responses(404), response_model_exclude_none=True)
def get_evidence(evidence_id: EvidenceId, home: OpenHome) -> EvidenceManifest:
    """A bundle: every file and what it proves. 404 if unknown, 422 if the list was changed."""
    return listing.get_evidence(home.settings, evidence_id)


@router.post("/{evidence_id}/verify", responses=error_responses(404), response_model_exclude_none=True)
def verify(evidence_id: EvidenceId, home: OpenHome) -> EvidenceVerdict:
    """Hash, read, recompute and score all of it again. 404 if unknown; a bundle that fails is a 200."""
    return listing.verify_known(home.settings, evidence_id)


@router.post(
    "/{evidence_id}/verify/live",
    responses={**error_responses(404), 200: {"content": {"application/x-ndjson": {}}}},
    response_class=StreamingResponse,
)
def verify_live(evidence_id: EvidenceId, home: OpenHome) -> StreamingResponse:
    """The same line by line: how far it is after every file and check, then the verdict. 404 if unknown."""
    steps = listing.iter_verification_of(home.settings, evidence_id)
    lines = (f"{step.model_dump_json(exclude_none=True)}\n".encode() for step in steps)
    return StreamingResponse(lines, media_type="application/x-ndjson")


@router.get(
    "/{evidence_id}/files/{path:path}",
    responses={**error_responses(404), 200: {"content": {kind: {} for kind in _FILE_TYPES}}},
    response_class=StreamingResponse,
)
def get_file(path: FilePath, file: Annotated[IO[bytes], Depends(_open_file)]) -> StreamingResponse:
    """A file of a bundle, to look at: `evidence.html` is the page of it. 404 if unknown."""
    media_type = _MEDIA_TYPES.get(PurePosixPath(path).suffix, "application/octet-stream")
    return StreamingResponse(chunks(file), media_type=media_type, headers=_SANDBOX_HEADERS)


@router.get(
    "/{evidence_id}/download",
    responses={**error_responses(404), 200: {"content": {"application/zip": {}}}},
    response_class=StreamingResponse,
)
def download(evidence_id: EvidenceId, home: OpenHome) -> StreamingResponse:
    """The bundle as a zip, made while it is sent. 404 if unknown."""
    headers = {"Content-Disposition": f'attachment; filename="{evidence_id}.zip"'}
    pieces = listing.evidence_zip(home.settings, evidence_id)
    return StreamingResponse(pieces, media_type="application/zip", headers=headers)
