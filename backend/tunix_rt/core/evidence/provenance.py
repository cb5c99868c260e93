"""`provenance.intoto.json`: inputs and outputs of the training, as in-toto and SLSA spell them.

https://in-toto.io/Statement/v1 with the predicate https://slsa.dev/provenance/v1
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import Field, JsonValue

from tunix_rt.core.evidence.linked_data import LinkedRecord
from tunix_rt.engines.training.types import RunEnvironment, RunManifest
from tunix_rt.models.types import Sha256

_OUTPUTS = ("model/", "predictions.jsonl", "evaluation.json", "metrics.jsonl")


class Resource(LinkedRecord):
    """A thing with a name and, where it has bytes, their hash."""

    name: str
    uri: str | None = None
    digest: dict[Literal["sha256", "gitCommit"], str] = Field(default_factory=dict)


class Subject(LinkedRecord):
    """A file that the run made."""

    name: str
    digest: dict[Literal["sha256"], Sha256]


class BuildDefinition(LinkedRecord):
    """What was asked for, and what went in."""

    build_type: Literal["urn:tunix-rt:training:1"] = Field("urn:tunix-rt:training:1", alias="buildType")
    external_parameters: dict[str, JsonValue] = Field(alias="externalParameters")
    internal_parameters: dict[str, JsonValue] = Field(alias="internalParameters")
    resolved_dependencies: tuple[Resource, ...] = Field(alias="resolvedDependencies")


class Builder(LinkedRecord):
    """Who ran it."""

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
    """What the run's own files say about where its outputs come from."""
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
