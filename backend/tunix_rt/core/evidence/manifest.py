"""`evidence.json`: every file of a bundle with its size and hash, and one hash over all of it.

The file has exactly one spelling. A byte that changes in it makes it another text, or another hash.
"""

import hashlib
import json
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from tunix_rt.base.records import Record
from tunix_rt.engines.training.types import RunStatus
from tunix_rt.models.types import InnerPath, ModelFile, Sha256

EVIDENCE_FILE = "evidence.json"
SUMS_FILE = "SHA256SUMS"
SIGNATURE_FILE = "evidence.sig"
PUBLIC_KEY_FILE = "evidence.pub"
UNLISTED_FILES = (EVIDENCE_FILE, SUMS_FILE, SIGNATURE_FILE, PUBLIC_KEY_FILE)
"""What is written after the list of files, and is therefore not on it."""
EVIDENCE_VERSION: Literal["1"] = "1"

BundleKind = Literal["evidence", "failure-report"]
EVIDENCE_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
EvidenceId = Annotated[str, Field(pattern=EVIDENCE_ID_PATTERN)]


class EvidenceFile(ModelFile):
    """One file of a bundle."""

    proves: str
    """In words."""
    content_schema: str | None = None
    """The JSON Schema of the file, or of each of its lines: its name in `docs/schemas`."""


class LeftOutFile(Record):
    """A file of the run that is not in the bundle, by the hash that the run wrote down."""

    path: InnerPath
    sha256: Sha256
    reason: str
    """Why, and where it can be had."""


class EvidenceManifest(Record):
    """What a bundle holds. Written when all of that is there."""

    evidence_version: Literal["1"] = EVIDENCE_VERSION
    evidence_id: EvidenceId
    kind: BundleKind
    """`failure-report`: the run did not succeed, and nothing here says that it did."""
    headline: str
    """What it comes to, in one sentence."""
    run_id: str
    status: RunStatus
    created_at: datetime
    tunix_rt_version: str
    """That packed it; the run's own is in run_manifest.json."""
    files: tuple[EvidenceFile, ...]
    """By path."""
    left_out: tuple[LeftOutFile, ...] = ()
    content_hash: Sha256 = "0" * 64
    """SHA-256 of this text with 64 zeros in place of the hash."""

    @property
    def size_bytes(self) -> int:
        """Of all files."""
        return sum(file.size_bytes for file in self.files)

    def file(self, path: str) -> EvidenceFile | None:
        """The file at this path, if it is listed."""
        return next((file for file in self.files if file.path == path), None)

    def to_bytes(self) -> bytes:
        """The one spelling."""
        return f"{json.dumps(self.to_json(), ensure_ascii=False, indent=2)}\n".encode()

    def expected_hash(self) -> str:
        """What `content_hash` must be."""
        unsealed = self.model_copy(update={"content_hash": "0" * 64})
        return hashlib.sha256(unsealed.to_bytes()).hexdigest()

    def sealed(self) -> "EvidenceManifest":
        """The same with its hash."""
        return self.model_copy(update={"content_hash": self.expected_hash()})


def sums_text(hashes: dict[str, str]) -> bytes:
    r"""`SHA256SUMS` as `sha256sum --check` reads it: every file but itself.

    Example:
        {"log.txt": "ab…"} -> "ab…  log.txt\n"
    """
    return "".join(f"{hashes[path]}  {path}\n" for path in sorted(hashes)).encode()
