"""Standard documents of a bundle: RO-Crate, Croissant, in-toto provenance, environment snapshots.

https://w3id.org/ro/crate/1.1

http://mlcommons.org/croissant/1.0

https://in-toto.io/Statement/v1 with the predicate https://slsa.dev/provenance/v1
"""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, Literal

from pydantic import ConfigDict, Field, JsonValue

from tunix_rt.base.records import Record
from tunix_rt.datasets.types import DatasetManifest, SplitFile
from tunix_rt.engines.training.types import RunEnvironment, RunManifest
from tunix_rt.evidence.types import EVIDENCE_FILE, EvidenceFile
from tunix_rt.models.types import Sha256


class LinkedRecord(Record):
    """A record with the keys of a standard: `@id`, `_type`, `sha256`."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)


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
    """The crate: all files, and the run that produced them."""
    parts = [
        _entity(file.path, file.proves) | {"contentSize": str(file.size_bytes), "sha256": file.sha256}
        for file in files
    ]
    parts.append(_entity(EVIDENCE_FILE, "Every file with its size and hash."))
    descriptor: CrateEntity = {
        "@id": CRATE_FILE,
        "@type": "CreativeWork",
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        "about": {"@id": "./"},
    }
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
    status = "Completed" if manifest.status == "succeeded" else "Failed"
    run: CrateEntity = {
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
    tool: CrateEntity = {
        "@id": "#tunix-rt",
        "@type": "SoftwareApplication",
        "name": "Tunix RT",
        "version": manifest.tunix_rt_version,
    }
    return RoCrate(graph=(descriptor, root, run, tool, *parts))


def _entity(path: str, description: str) -> CrateEntity:
    return {
        "@id": path,
        "@type": "File",
        "name": PurePosixPath(path).name,
        "description": description,
        "encodingFormat": _MEDIA_TYPES.get(PurePosixPath(path).suffix, "application/octet-stream"),
    }


_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_FIELDS = {
    "trace_version": "Version of the row's format.",
    "prompt": "The question.",
    "final_answer": "The answer.",
}


class Reference(LinkedRecord):
    """Reference to another node by its id."""

    id: str = Field(alias="@id")


class Extract(LinkedRecord):
    """Where a field is in a line."""

    column: str


class FieldSource(LinkedRecord):
    """Where a field comes from."""

    file_object: Reference = Field(alias="fileObject")
    extract: Extract


class CroissantField(LinkedRecord):
    """A column."""

    node_type: Literal["cr:Field"] = Field("cr:Field", alias="@type")
    id: str = Field(alias="@id")
    name: str
    description: str
    data_type: Literal["sc:Text"] = Field("sc:Text", alias="dataType")
    source: FieldSource


class RecordSet(LinkedRecord):
    """The rows of a split."""

    node_type: Literal["cr:RecordSet"] = Field("cr:RecordSet", alias="@type")
    id: str = Field(alias="@id")
    name: str
    field: tuple[CroissantField, ...]


class FileObject(LinkedRecord):
    """The file of a split."""

    node_type: Literal["cr:FileObject"] = Field("cr:FileObject", alias="@type")
    id: str = Field(alias="@id")
    name: str
    content_url: str = Field(alias="contentUrl")
    content_size: str = Field(alias="contentSize")
    encoding_format: Literal["application/jsonlines"] = Field("application/jsonlines", alias="encodingFormat")
    sha256: Sha256


class Croissant(LinkedRecord):
    """The file."""

    context: dict[str, Any] = Field(alias="@context")
    node_type: Literal["sc:Dataset"] = Field("sc:Dataset", alias="@type")
    conforms_to: Literal["http://mlcommons.org/croissant/1.0"] = Field(
        "http://mlcommons.org/croissant/1.0", alias="conformsTo"
    )
    name: str
    description: str
    version: str
    license: str
    date_published: str = Field(alias="datePublished")
    identifier: str
    """The dataset's content hash."""
    distribution: tuple[FileObject, ...]
    record_set: tuple[RecordSet, ...] = Field(alias="recordSet")


def croissant(manifest: DatasetManifest) -> Croissant:
    """The dataset manifest as Croissant metadata."""
    version = manifest.spec.dataset_version
    number = version.removeprefix("v")
    return Croissant(
        context=_CONTEXT,
        name=manifest.dataset_key,
        description=f"Reasoning traces: {manifest.num_rows:,} rows in {len(manifest.splits)} splits.",
        # Croissant requires a semantic version: v2 -> 2.0.0; others stay as they are.
        version=f"{number}.0.0" if number.isdecimal() else version,
        license=manifest.spec.license or "not stated",
        date_published=manifest.created_at.isoformat(),
        identifier=f"sha256:{manifest.content_hash}",
        distribution=tuple(
            FileObject(
                id=split.filename,
                name=split.filename,
                content_url=split.filename,
                content_size=f"{split.num_bytes} B",
                sha256=split.sha256,
            )
            for split in manifest.splits
        ),
        record_set=tuple(_records(split) for split in manifest.splits),
    )


def _records(split: SplitFile) -> RecordSet:
    source = Reference(id=split.filename)
    fields = [
        CroissantField(
            id=f"{split.name}/{name}",
            name=name,
            description=meaning,
            source=FieldSource(file_object=source, extract=Extract(column=name)),
        )
        for name, meaning in _FIELDS.items()
    ]
    return RecordSet(id=split.name, name=split.name, field=tuple(fields))


_OUTPUTS = ("model/", "predictions.jsonl", "evaluation.json", "metrics.jsonl")


class Resource(LinkedRecord):
    """A named input and, if it has bytes, their hash."""

    name: str
    uri: str | None = None
    digest: dict[Literal["sha256", "gitCommit"], str] = Field(default_factory=dict)


class Subject(LinkedRecord):
    """A file that the run produced."""

    name: str
    digest: dict[Literal["sha256"], Sha256]


class BuildDefinition(LinkedRecord):
    """Parameters and inputs of the run."""

    build_type: Literal["urn:tunix-rt:training:1"] = Field("urn:tunix-rt:training:1", alias="buildType")
    external_parameters: dict[str, JsonValue] = Field(alias="externalParameters")
    internal_parameters: dict[str, JsonValue] = Field(alias="internalParameters")
    resolved_dependencies: tuple[Resource, ...] = Field(alias="resolvedDependencies")


class Builder(LinkedRecord):
    """What ran it."""

    id: str
    version: dict[str, str]


class RunMetadata(LinkedRecord):
    """When it ran."""

    invocation_id: str = Field(alias="invocationId")
    started_on: datetime = Field(alias="startedOn")
    finished_on: datetime = Field(alias="finishedOn")


class RunDetails(LinkedRecord):
    """How it ran."""

    builder: Builder
    metadata: RunMetadata


class Provenance(LinkedRecord):
    """The predicate."""

    build_definition: BuildDefinition = Field(alias="buildDefinition")
    run_details: RunDetails = Field(alias="runDetails")


class Statement(LinkedRecord):
    """The file."""

    statement_type: Literal["https://in-toto.io/Statement/v1"] = Field(
        "https://in-toto.io/Statement/v1", alias="_type"
    )
    subject: tuple[Subject, ...] = Field(min_length=1)
    predicate_type: Literal["https://slsa.dev/provenance/v1"] = Field(
        "https://slsa.dev/provenance/v1", alias="predicateType"
    )
    predicate: Provenance


def statement(manifest: RunManifest, environment: RunEnvironment, recipe: Mapping[str, Any]) -> Statement:
    """The provenance of the run's outputs, derived from its files."""
    outputs = [(path, digest) for path, digest in manifest.files.items() if path.startswith(_OUTPUTS)]
    return Statement(
        subject=tuple(Subject(name=path, digest={"sha256": digest}) for path, digest in outputs),
        predicate=Provenance(
            build_definition=BuildDefinition(
                external_parameters={"recipe": dict(recipe)},
                internal_parameters={
                    "engine": manifest.engine,
                    "device": environment.device,
                    "devices": list(environment.devices),
                },
                resolved_dependencies=tuple(_inputs(manifest, environment)),
            ),
            run_details=RunDetails(
                builder=Builder(
                    id=f"urn:tunix-rt:engine:{manifest.engine}",
                    version={"tunix-rt": manifest.tunix_rt_version, "python": environment.python},
                ),
                metadata=RunMetadata(
                    invocation_id=manifest.run_id,
                    started_on=manifest.started_at,
                    finished_on=manifest.finished_at,
                ),
            ),
        ),
    )


def _inputs(manifest: RunManifest, environment: RunEnvironment) -> list[Resource]:
    found = [
        Resource(name=f"dataset {manifest.dataset}", digest={"sha256": manifest.dataset_hash}),
        Resource(name=f"base model {manifest.model}"),
    ]
    if environment.code_sha256 is not None:
        found.append(Resource(name="code of tunix_rt", digest={"sha256": environment.code_sha256}))
    if environment.commit is not None:
        found.append(Resource(name="commit of tunix-rt", digest={"gitCommit": environment.commit}))
    versions = environment.installed or environment.packages
    found += [
        Resource(name=name, uri=f"pkg:pypi/{name.lower()}@{versions[name]}") for name in sorted(versions)
    ]
    return found


def json_text(value: object) -> str:
    """The canonical text of a derived JSON file; verification compares it byte for byte."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


_GIB = 1 << 30


def environment_text(environment: RunEnvironment) -> str:
    """Python, system, code and packages."""
    changes = {None: "an installed package", True: "uncommitted, see code.diff", False: "no uncommitted ones"}
    head = [
        f"python      {environment.python}",
        f"platform    {environment.platform}",
        f"cpus        {environment.num_cpus}",
        f"engine      {environment.engine}",
        f"commit      {environment.commit or 'not from a git checkout'}",
        f"changes     {changes[environment.is_dirty]}",
        f"code        sha256 {environment.code_sha256 or 'not recorded'}",
    ]
    packages = [f"{name}=={version}" for name, version in environment.packages.items()]
    variables = [f"{name}={value}" for name, value in environment.variables.items()]
    sections = {"# packages that decide the numbers": packages, "# environment variables": variables}
    parts = [head, *([title, *lines] for title, lines in sections.items() if lines)]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def devices_text(environment: RunEnvironment) -> str:
    """The devices, their memory and their driver."""
    memory = environment.device_memory_bytes
    size = "not reported" if memory is None else f"{memory / _GIB:.2f} GiB ({memory} bytes)"
    lines = [
        f"chosen            {environment.device}",
        f"devices           {len(environment.devices)}",
        *(f"                  {name}" for name in environment.devices),
        f"memory of each    {size}",
        f"NVIDIA driver     {environment.driver or 'no NVIDIA driver on this machine'}",
    ]
    return "\n".join(lines) + "\n"


def lock_text(environment: RunEnvironment) -> str | None:
    """Every installed package in pip format; None if the run did not record them."""
    if not environment.installed:
        return None
    return "".join(f"{name}=={version}\n" for name, version in environment.installed.items())
