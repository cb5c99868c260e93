"""`ro-crate-metadata.json`: the bundle as an RO-Crate, so that archives and catalogues can read it.

https://w3id.org/ro/crate/1.1
"""

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Literal

from pydantic import Field, JsonValue

from tunix_rt.core.evidence.linked_data import LinkedRecord
from tunix_rt.core.evidence.manifest import EVIDENCE_FILE, EvidenceFile
from tunix_rt.engines.training.types import RunManifest

CRATE_FILE = "ro-crate-metadata.json"
_MEDIA_TYPES = {
    ".json": "application/json",
    ".jsonl": "application/jsonlines",
    ".html": "text/html",
    ".md": "text/markdown",
    ".diff": "text/x-diff",
    ".txt": "text/plain",
}

CrateEntity = dict[str, JsonValue]


class RoCrate(LinkedRecord):
    """The file."""

    context: Literal["https://w3id.org/ro/crate/1.1/context"] = Field(
        "https://w3id.org/ro/crate/1.1/context", alias="@context"
    )
    graph: tuple[CrateEntity, ...] = Field(alias="@graph")


def ro_crate(manifest: RunManifest, headline: str, files: Iterable[EvidenceFile], created_at: str) -> RoCrate:
    """All files, and the run that made them."""
    parts = [_file(file) for file in files]
    parts.append(_entity(EVIDENCE_FILE, "Every file with its size and hash."))
    root: CrateEntity = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Evidence of the run {manifest.run_id}",
        "description": headline,
        "datePublished": created_at,
        "license": "Of whoever ran the training; the dataset card states that of the data.",
        "hasPart": [{"@id": part["@id"]} for part in parts],
        "mentions": {"@id": "#run"},
    }
    return RoCrate(graph=(_descriptor(), root, _action(manifest), _tool(manifest), *parts))


def _descriptor() -> CrateEntity:
    return {
        "@id": CRATE_FILE,
        "@type": "CreativeWork",
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        "about": {"@id": "./"},
    }


def _action(manifest: RunManifest) -> CrateEntity:
    status = "Completed" if manifest.status == "succeeded" else "Failed"
    return {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"Training of {manifest.model} on {manifest.dataset}",
        "startTime": manifest.started_at.isoformat(),
        "endTime": manifest.finished_at.isoformat(),
        "actionStatus": {"@id": f"http://schema.org/{status}ActionStatus"},
        "instrument": {"@id": "#tunix-rt"},
        "object": {"@id": "recipe.resolved.json"},
        "result": {"@id": "run_manifest.json"},
    }


def _tool(manifest: RunManifest) -> CrateEntity:
    return {
        "@id": "#tunix-rt",
        "@type": "SoftwareApplication",
        "name": "Tunix RT",
        "version": manifest.tunix_rt_version,
    }


def _file(file: EvidenceFile) -> CrateEntity:
    sizes: CrateEntity = {"contentSize": str(file.size_bytes), "sha256": file.sha256}
    return _entity(file.path, file.proves) | sizes


def _entity(path: str, description: str) -> CrateEntity:
    ending = PurePosixPath(path).suffix
    return {
        "@id": path,
        "@type": "File",
        "name": PurePosixPath(path).name,
        "description": description,
        "encodingFormat": _MEDIA_TYPES.get(ending, "application/octet-stream"),
    }
