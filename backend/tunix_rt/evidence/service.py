"""The bundles in the home directory."""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import IO

from tunix_rt.base.errors import DataError, NotFoundError
from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.base.records import Count, Pagination, Record, pagination
from tunix_rt.base.settings import Settings
from tunix_rt.engines.training.types import RunStatus
from tunix_rt.evidence.checks.files import read_manifest
from tunix_rt.evidence.files import open_bundle
from tunix_rt.evidence.types import EVIDENCE_ID_PATTERN, SIGNATURE_FILE, BundleKind, EvidenceManifest


class EvidenceRow(Record):
    """One bundle in a list."""

    evidence_id: str
    kind: BundleKind
    headline: str
    run_id: str
    status: RunStatus
    created_at: datetime
    num_files: Count
    size_bytes: Count
    is_signed: bool
    content_hash: str


class EvidenceList(Record):
    """A page of bundles, newest first."""

    data: tuple[EvidenceRow, ...]
    damaged: tuple[str, ...]
    """Ids of bundles with an invalid list of files; pack their runs again."""
    pagination: Pagination


def list_evidence(settings: Settings, *, run_id: str | None, limit: int, offset: int) -> EvidenceList:
    """A page of the bundles, optionally of one run."""
    found = {path.name: _row(path) for path in _bundles(settings)}
    rows = [row for row in found.values() if row is not None and run_id in (None, row.run_id)]
    rows.sort(key=lambda row: (row.created_at, row.evidence_id), reverse=True)
    page = rows[offset : offset + limit]
    return EvidenceList(
        data=tuple(page),
        damaged=tuple(sorted(name for name, row in found.items() if row is None)),
        pagination=pagination(limit, offset, len(page), len(rows)),
    )


def get_evidence(settings: Settings, evidence_id: str) -> EvidenceManifest:
    """The manifest of a bundle.

    Raises:
        NotFoundError: There is no such bundle.
        DataError: Its list of files is invalid.
    """
    with open_bundle(bundle_dir(settings, evidence_id)) as bundle:
        manifest, check = read_manifest(bundle)
    if manifest is None:
        problem = check.problems[0]
        raise DataError(problem.detail, next_step=problem.next_step or "Pack the run again.")
    return manifest


def open_file(settings: Settings, evidence_id: str, path: str) -> IO[bytes]:
    """Open a file of a bundle for reading.

    Raises:
        NotFoundError: There is no such bundle or file; files outside the bundle are reported the same way.
    """
    with open_bundle(bundle_dir(settings, evidence_id)) as bundle:
        if path not in bundle.sizes:
            raise NotFoundError(
                f"The evidence {evidence_id} has no file {path!r}.",
                next_step=f"List its files: GET /api/evidence/{evidence_id}",
            )
        with storage_errors(f"opening {path}"):
            return bundle.open(path)


def _bundles(settings: Settings) -> Iterator[Path]:
    if settings.evidence_dir.is_dir():
        for path in settings.evidence_dir.iterdir():
            is_whole = path.is_dir() and not path.is_symlink()
            if is_whole and re.fullmatch(EVIDENCE_ID_PATTERN, path.name) and ".tmp-" not in path.name:
                yield path


def bundle_dir(settings: Settings, evidence_id: str) -> Path:
    """The directory of a bundle in the home directory, or NotFoundError."""
    found = next((path for path in _bundles(settings) if path.name == evidence_id), None)
    if found is None:
        raise NotFoundError(
            f"There is no evidence {evidence_id!r}.", next_step="Pack it: tunix-rt evidence pack RUN"
        )
    return found


def _row(path: Path) -> EvidenceRow | None:
    with open_bundle(path) as bundle:
        manifest, _ = read_manifest(bundle)
        is_signed = SIGNATURE_FILE in bundle.sizes
    if manifest is None:
        return None
    return EvidenceRow(
        evidence_id=path.name,
        kind=manifest.kind,
        headline=manifest.headline,
        run_id=manifest.run_id,
        status=manifest.status,
        created_at=manifest.created_at,
        num_files=len(manifest.files),
        size_bytes=manifest.size_bytes,
        is_signed=is_signed,
        content_hash=manifest.content_hash,
    )
