"""/api/evidence."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import IO, Annotated

from fastapi import APIRouter, Depends, Path, Query, status
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from tunix_rt.base.files.copies import stream_zip
from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import CheckedRoute, Limit, Offset, OpenHome
from tunix_rt.base.http.transfers import chunks
from tunix_rt.engines.training.types import RUN_ID_PATTERN
from tunix_rt.evidence import service
from tunix_rt.evidence.files import bundle_entries
from tunix_rt.evidence.pack import PackRequest, pack_evidence
from tunix_rt.evidence.types import EVIDENCE_ID_PATTERN, EvidenceManifest, EvidenceVerdict
from tunix_rt.evidence.verify import iter_verification, verify_evidence
from tunix_rt.models.register import run_by_id

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
# Files of a bundle are untrusted: they must not run scripts or load anything.
_SANDBOX_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "X-Content-Type-Options": "nosniff",
}
RunId = Annotated[str, Field(pattern=RUN_ID_PATTERN)]


def _open_file(evidence_id: EvidenceId, path: FilePath, home: OpenHome) -> Iterator[IO[bytes]]:
    with service.open_file(home.settings, evidence_id, path) as file:
        yield file


class PackBody(BaseModel):
    """Which run to pack, and which large files to include."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    run_id: RunId
    is_failure_report: bool = False
    """Pack a run that did not succeed, labelled as a failure report."""
    has_model: bool = False
    """Include the trained weights."""
    has_dataset: bool = True
    """False: leave out the rows and keep their hashes."""


@router.get("", response_model_exclude_none=True)
def list_evidence(
    home: OpenHome,
    run_id: Annotated[str | None, Query(pattern=RUN_ID_PATTERN)] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> service.EvidenceList:
    """A page of the bundles in the home directory, newest first, optionally of one run."""
    return service.list_evidence(home.settings, run_id=run_id, limit=limit, offset=offset)


@router.post(
    "/pack",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(400, 404, 409),
    response_model_exclude_none=True,
)
def pack(body: PackBody, home: OpenHome) -> EvidenceManifest:
    """Pack a run, replacing its earlier bundle. 404 if unknown, 409 while it runs, 422 if invalid."""
    request = PackRequest(
        run_dir=run_by_id(home.settings, body.run_id),
        is_failure_report=body.is_failure_report,
        has_model=body.has_model,
        has_dataset=body.has_dataset,
    )
    return pack_evidence(home.settings, request).manifest


@router.get("/{evidence_id}", responses=error_responses(404), response_model_exclude_none=True)
def get_evidence(evidence_id: EvidenceId, home: OpenHome) -> EvidenceManifest:
    """The manifest of a bundle: every file and what it proves. 404 if unknown, 422 if it was changed."""
    return service.get_evidence(home.settings, evidence_id)


@router.post("/{evidence_id}/verify", responses=error_responses(404), response_model_exclude_none=True)
def verify(evidence_id: EvidenceId, home: OpenHome) -> EvidenceVerdict:
    """Verify a bundle: hash, validate, recompute and rescore everything. 404 if unknown; 200 if it fails."""
    path = service.bundle_dir(home.settings, evidence_id)
    return verify_evidence(path, evalsets_dir=home.settings.evalsets_dir)


@router.post(
    "/{evidence_id}/verify/live",
    responses={**error_responses(404), 200: {"content": {"application/x-ndjson": {}}}},
    response_class=StreamingResponse,
)
def verify_live(evidence_id: EvidenceId, home: OpenHome) -> StreamingResponse:
    """Verify a bundle, streaming the progress as JSON lines and finally the verdict. 404 if unknown."""
    path = service.bundle_dir(home.settings, evidence_id)
    steps = iter_verification(path, evalsets_dir=home.settings.evalsets_dir)
    lines = (f"{step.model_dump_json(exclude_none=True)}\n".encode() for step in steps)
    return StreamingResponse(lines, media_type="application/x-ndjson")


@router.get(
    "/{evidence_id}/files/{path:path}",
    responses={**error_responses(404), 200: {"content": {kind: {} for kind in _FILE_TYPES}}},
    response_class=StreamingResponse,
)
def get_file(path: FilePath, file: Annotated[IO[bytes], Depends(_open_file)]) -> StreamingResponse:
    """A file of a bundle for viewing; `evidence.html` is its page. 404 if unknown."""
    media_type = _MEDIA_TYPES.get(PurePosixPath(path).suffix, "application/octet-stream")
    return StreamingResponse(chunks(file), media_type=media_type, headers=_SANDBOX_HEADERS)


@router.get(
    "/{evidence_id}/download",
    responses={**error_responses(404), 200: {"content": {"application/zip": {}}}},
    response_class=StreamingResponse,
)
def download(evidence_id: EvidenceId, home: OpenHome) -> StreamingResponse:
    """The bundle as a zip stream. 404 if unknown."""
    headers = {"Content-Disposition": f'attachment; filename="{evidence_id}.zip"'}
    archive = stream_zip(bundle_entries(service.bundle_dir(home.settings, evidence_id)))
    return StreamingResponse(archive, media_type="application/zip", headers=headers)
