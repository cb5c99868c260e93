"""/api/models."""

from contextlib import suppress
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Response, status
from fastapi.responses import PlainTextResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import CheckedRoute, Limit, Offset, OpenHome
from tunix_rt.base.http.transfers import text_answer
from tunix_rt.base.records import StorableText
from tunix_rt.engines.training.types import RUN_ID_PATTERN
from tunix_rt.models.card import card_of
from tunix_rt.models.export import zip_chunks
from tunix_rt.models.find import model_detail
from tunix_rt.models.register import register_run
from tunix_rt.models.service import (
    ModelList,
    VersionDetail,
    VersionVerdict,
    files_of,
    list_models,
    remove_model,
    remove_version,
    verify_versions,
    version_detail,
)
from tunix_rt.models.store import ModelRepository
from tunix_rt.models.types import (
    WORD_PATTERN,
    Label,
    ModelDetail,
    ModelReference,
    ModelTree,
    ModelVersion,
    NewModel,
    Note,
    RegisteredModel,
    Tags,
    TagValue,
    VersionAnnotations,
    VersionNumber,
    parse_reference,
)

# Before the routes of the models: no model is called "versions".
router = APIRouter(
    prefix="/api/models/versions", tags=["models"], responses=error_responses(404), route_class=CheckedRoute
)


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class NewNotes(_Body):
    """The new notes of a version."""

    notes: Note


class NewTag(_Body):
    """The new value of a tag."""

    value: TagValue


def _found(version_id: UUID, home: OpenHome) -> ModelVersion:
    return ModelRepository(home.database).version(version_id)


Found = Annotated[ModelVersion, Depends(_found)]
TagName = Annotated[str, Path(pattern=WORD_PATTERN)]


@router.get("/{version_id}", response_model_exclude_none=True)
def get_version(version_id: UUID, home: OpenHome) -> VersionDetail:
    """A version: content, lineage, and every evaluation of its weights. 404 if unknown."""
    return version_detail(home, version_id)


@router.get("/{version_id}/files")
def get_files(version_id: UUID, home: OpenHome) -> ModelTree:
    """The files of a version with sizes and hashes. 404 if unknown, 422 if the store is damaged."""
    return files_of(home, version_id)


@router.get("/{version_id}/card", response_class=Response, responses=text_answer("text/markdown"))
def get_card(version: Found, home: OpenHome) -> PlainTextResponse:
    """The model card as Markdown, ready for the Hugging Face hub. 404 if unknown."""
    return PlainTextResponse(card_of(home, version), media_type="text/markdown")


@router.get(
    "/{version_id}/download",
    responses={200: {"content": {"application/zip": {}}}},
    response_class=StreamingResponse,
)
def download_version(version: Found, home: OpenHome) -> StreamingResponse:
    """The files and the card as a zip stream. 404 if unknown, 422 if a file is missing.

    Every byte is verified while it is sent: a complete archive is intact.
    """
    headers = {"Content-Disposition": f'attachment; filename="{version.model}-{version.version}.zip"'}
    return StreamingResponse(zip_chunks(home, version), media_type="application/zip", headers=headers)


@router.post("/{version_id}/verify")
def verify(version: Found, home: OpenHome) -> VersionVerdict:
    """Read every byte and compare it with what was registered. 404 if unknown."""
    (verdict,) = verify_versions(home, [version])
    return verdict


@router.put("/{version_id}/notes", responses=error_responses(400), response_model_exclude_none=True)
def put_notes(version: Found, body: NewNotes, home: OpenHome) -> ModelVersion:
    """Replace the notes. 404 if unknown."""
    return ModelRepository(home.database).set_notes(parse_reference(version.reference), body.notes)


@router.put("/{version_id}/tags/{name}", responses=error_responses(400), response_model_exclude_none=True)
def put_tag(version: Found, name: TagName, body: NewTag, home: OpenHome) -> ModelVersion:
    """Set a tag. 404 if the version is unknown."""
    return ModelRepository(home.database).set_tag(parse_reference(version.reference), name, body.value)


@router.delete("/{version_id}/tags/{name}", status_code=status.HTTP_204_NO_CONTENT)
def delete_tag(version: Found, name: TagName, home: OpenHome) -> None:
    """Remove a tag. 404 if version or tag is unknown."""
    ModelRepository(home.database).remove_tag(parse_reference(version.reference), name)


@router.delete("/{version_id}", status_code=status.HTTP_204_NO_CONTENT, responses=error_responses(409))
def delete_version(version: Found, home: OpenHome) -> None:
    """Remove a version. 404 if unknown, 409 while an alias, a baseline or a trained model depends on it."""
    remove_version(home, parse_reference(version.reference))


models_router = APIRouter(
    prefix="/api/models", tags=["models"], responses=error_responses(), route_class=CheckedRoute
)


class Promotion(_Body):
    """The weights to register, with label, notes and tags."""

    source_run_id: Annotated[str, Field(pattern=RUN_ID_PATTERN)]
    step: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    """A checkpoint of the run. Default: the model exported at its end."""
    version_label: Label | None = None
    description: Note = ""
    tags: Tags = Field(default_factory=dict)


class AliasTarget(_Body):
    """The version that an alias points to."""

    version: VersionNumber


def _found_model(
    model: Annotated[StorableText, Path(description="name or id", max_length=128)], home: OpenHome
) -> RegisteredModel:
    name: str | UUID = model
    with suppress(ValueError):
        name = UUID(model)
    return ModelRepository(home.database).get(name)


FoundModel = Annotated[RegisteredModel, Depends(_found_model)]
AliasName = Annotated[str, Path(pattern=WORD_PATTERN)]


@models_router.post(
    "",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(400, 409),
    response_model_exclude_none=True,
)
def create_model(model: NewModel, home: OpenHome) -> RegisteredModel:
    """Create a model without versions. 409 if the name is taken."""
    return ModelRepository(home.database).create(model)


@models_router.get("", response_model_exclude_none=True)
def get_models(home: OpenHome, limit: Limit = 20, offset: Offset = 0) -> ModelList:
    """A page of models by name with the total."""
    return list_models(home, limit=limit, offset=offset)


@models_router.get("/{model}", responses=error_responses(404), response_model_exclude_none=True)
def get_model(found: FoundModel, home: OpenHome) -> ModelDetail:
    """A model with its versions, newest first. 404 if unknown."""
    return model_detail(home, found.name)


@models_router.post(
    "/{model}/versions/promote",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(400, 404, 409) | {200: {"model": ModelVersion}},
    response_model_exclude_none=True,
)
def promote(found: FoundModel, promotion: Promotion, home: OpenHome, response: Response) -> ModelVersion:
    """Register the weights of a run. 201 if they are new, 200 if the same content is already registered.

    404 if model, run or checkpoint is unknown, 409 if the run did not succeed or the label is taken, 422 if
    the run's files were changed after the run.
    """
    annotations = VersionAnnotations(
        label=promotion.version_label, notes=promotion.description, tags=promotion.tags
    )
    done = register_run(
        home, found.name, promotion.source_run_id, step=promotion.step, annotations=annotations
    )
    response.status_code = status.HTTP_201_CREATED if done.is_new else status.HTTP_200_OK
    return done.version


@models_router.put(
    "/{model}/aliases/{alias}", responses=error_responses(400, 404), response_model_exclude_none=True
)
def put_alias(found: FoundModel, alias: AliasName, target: AliasTarget, home: OpenHome) -> ModelVersion:
    """Move an alias atomically to a version. 404 if either is unknown."""
    return ModelRepository(home.database).set_alias(ModelReference(found.name, version=target.version), alias)


@models_router.delete(
    "/{model}/aliases/{alias}", status_code=status.HTTP_204_NO_CONTENT, responses=error_responses(404)
)
def delete_alias(found: FoundModel, alias: AliasName, home: OpenHome) -> None:
    """Delete an alias; the version stays. 404 if unknown."""
    ModelRepository(home.database).remove_alias(found.name, alias)


@models_router.delete("/{model}", status_code=status.HTTP_204_NO_CONTENT, responses=error_responses(404, 409))
def delete_model(found: FoundModel, home: OpenHome) -> None:
    """Remove a model that has no versions. 404 if unknown, 409 while it has any."""
    remove_model(home, found.name)
