"""Versions of registered models: detail, files, card, download, notes, tags, verify, delete."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Response, status
from fastapi.responses import PlainTextResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict

from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import CheckedRoute, OpenHome
from tunix_rt.base.http.transfers import text_answer
from tunix_rt.core.models.reference import WORD_PATTERN
from tunix_rt.core.models.tree import ModelTree
from tunix_rt.core.models.version import ModelVersion, Note, TagValue
from tunix_rt.db.models import ModelRepository
from tunix_rt.services.registry.cards import card_of
from tunix_rt.services.registry.listing import VersionDetail, files_of, version_detail
from tunix_rt.services.registry.removing import remove_version
from tunix_rt.services.registry.resolving import pinned
from tunix_rt.services.registry.verifying import VersionVerdict, verify_versions
from tunix_rt.services.registry.zipping import zip_chunks

# Before the routes of the models: no model is called "versions".
router = APIRouter(
    prefix="/api/models/versions", tags=["models"], responses=error_responses(404), route_class=CheckedRoute
)


class NewNotes(BaseModel):
    """What people should know about a version."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    notes: Note


class NewTag(BaseModel):
    """What a tag says."""

    model_config = ConfigDict(extra="forbid", frozen=True)
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
    """Its files with sizes and hashes. 404 if unknown, 422 if the store is damaged."""
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
    """Its files and the card as a zip, made while it is sent. 404 if unknown, 422 if a file is missing.

    Every byte is checked on its way: an archive that has an end is whole.
    """
    headers = {"Content-Disposition": f'attachment; filename="{version.model}-{version.version}.zip"'}
    return StreamingResponse(zip_chunks(home, version), media_type="application/zip", headers=headers)


@router.post("/{version_id}/verify")
def verify(version: Found, home: OpenHome) -> VersionVerdict:
    """Read every byte again and compare with what was registered. 404 if unknown."""
    (verdict,) = verify_versions(home, [version])
    return verdict


@router.put("/{version_id}/notes", responses=error_responses(400), response_model_exclude_none=True)
def put_notes(version: Found, body: NewNotes, home: OpenHome) -> ModelVersion:
    """Write a note, in place of the one that is there. 404 if unknown."""
    return ModelRepository(home.database).set_notes(pinned(version), body.notes)


@router.put("/{version_id}/tags/{name}", responses=error_responses(400), response_model_exclude_none=True)
def put_tag(version: Found, name: TagName, body: NewTag, home: OpenHome) -> ModelVersion:
    """Set a tag. 404 if the version is unknown."""
    return ModelRepository(home.database).set_tag(pinned(version), name, body.value)


@router.delete("/{version_id}/tags/{name}", status_code=status.HTTP_204_NO_CONTENT)
def delete_tag(version: Found, name: TagName, home: OpenHome) -> None:
    """Take a tag off. 404 if version or tag is unknown."""
    ModelRepository(home.database).remove_tag(pinned(version), name)


@router.delete("/{version_id}", status_code=status.HTTP_204_NO_CONTENT, responses=error_responses(409))
def delete_version(version: Found, home: OpenHome) -> None:
    """Forget a version. 404 if unknown, 409 while an alias, a baseline or a training needs it."""
    remove_version(home, pinned(version))
