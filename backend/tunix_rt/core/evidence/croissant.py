"""`dataset/croissant.json`: the dataset as MLCommons Croissant describes datasets.

http://mlcommons.org/croissant/1.0
"""

from typing import Any, Literal

from pydantic import Field

from tunix_rt.core.evidence.linked_data import LinkedRecord
from tunix_rt.datasets.types import DatasetManifest, SplitFile
from tunix_rt.models.types import Sha256

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
    """Another node, by its id."""

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
    """The dataset's own manifest in Croissant's words."""
    return Croissant(
        context=_CONTEXT,
        name=manifest.dataset_key,
        description=f"Reasoning traces: {manifest.num_rows:,} rows in {len(manifest.splits)} splits.",
        version=_semantic_version(manifest.spec.dataset_version),
        license=manifest.spec.license or "not stated",
        date_published=manifest.created_at.isoformat(),
        identifier=f"sha256:{manifest.content_hash}",
        distribution=tuple(_file(split) for split in manifest.splits),
        record_set=tuple(_records(split) for split in manifest.splits),
    )


def _semantic_version(version: str) -> str:
    """As Croissant wants it: v2 -> 2.0.0; any other word stays."""
    number = version.removeprefix("v")
    return f"{number}.0.0" if number.isdecimal() else version


def _file(split: SplitFile) -> FileObject:
    return FileObject(
        id=split.filename,
        name=split.filename,
        content_url=split.filename,
        content_size=f"{split.num_bytes} B",
        sha256=split.sha256,
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
