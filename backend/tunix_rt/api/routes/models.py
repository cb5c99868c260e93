"""Registered models: create, list, detail, register a version, aliases, delete."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response, status
from pydantic import BaseModel, ConfigDict, Field

from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import CheckedRoute, Limit, Offset, OpenHome
from tunix_rt.base.records import StorableText
from tunix_rt.core.models.reference import WORD_PATTERN, Label, ModelReference
from tunix_rt.core.models.version import (
    ModelDetail,
    ModelVersion,
    NewModel,
    Note,
    RegisteredModel,
    Remarks,
    Tags,
    VersionNumber,
)
from tunix_rt.db.models import ModelRepository
from tunix_rt.engines.training.types import RUN_ID_PATTERN
from tunix_rt.services.registry.listing import ModelList, list_models
from tunix_rt.services.registry.registering import register_run
from tunix_rt.services.registry.removing import remove_model
from tunix_rt.services.registry.resolving import find_model_by, model_detail

router = APIRouter(
    prefix="/api/models", tags=["models"], responses=error_responses(), route_class=CheckedRoute
)


class Promotion(BaseModel):
    """Which weights become a version, and what is said about them."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
    source_run_id: Annotated[str, Field(pattern=RUN_ID_PATTERN)]
    step: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    """A checkpoint of the run. Default: what the run exported at its end."""
    version_label: Label | None = None
    description: Note = ""
    tags: Tags = Field(default_factory=dict)


class AliasTarget(BaseModel):
    """The version that an alias means."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    version: VersionNumber


def _found(
    model: Annotated[StorableText, Path(description="name or id", max_length=128)], home: OpenHome
) -> RegisteredModel:
    return find_model_by(home, model)


Found = Annotated[RegisteredModel, Depends(_found)]
AliasName = Annotated[str, Path(pattern=WORD_PATTERN)]


@router.post(
    "",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(400, 409),
    response_model_exclude_none=True,
)
def create_model(model: NewModel, home: OpenHome) -> RegisteredModel:
    """Make a model without versions. 409 if the name is taken."""
    return ModelRepository(home.database).create(model)


@router.get("", response_model_exclude_none=True)
def get_models(home: OpenHome, limit: Limit = 20, offset: Offset = 0) -> ModelList:
    """A page of models by name, with the total."""
    return list_models(home, limit=limit, offset=offset)


@router.get("/{model}", responses=error_responses(404), response_model_exclude_none=True)
def get_model(found: Found, home: OpenHome) -> ModelDetail:
    """A model with its versions, newest first. 404 if unknown."""
    return model_detail(home, found.name)


@router.post(
    "/{model}/versions/promote",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(400, 404, 409) | {200: {"model": ModelVersion}},
    response_model_exclude_none=True,
)
def promote(found: Found, promotion: Promotion, home: OpenHome, response: Response) -> ModelVersion:
    """Register the weights of a run. 201 when they are new, 200 when the same content is registered.

    404 if model, run or checkpoint is unknown, 409 if the run did not succeed or the label is taken, 422 if
    the run's files are not what it wrote.
    """
    remarks = Remarks(label=promotion.version_label, notes=promotion.description, tags=promotion.tags)
    done = register_run(home, found.name, promotion.source_run_id, step=promotion.step, remarks=remarks)
    response.status_code = status.HTTP_201_CREATED if done.is_new else status.HTTP_200_OK
    return done.version


@router.put("/{model}/aliases/{alias}", responses=error_responses(400, 404), response_model_exclude_none=True)
def put_alias(found: Found, alias: AliasName, target: AliasTarget, home: OpenHome) -> ModelVersion:
    """Let an alias mean a version, in one step from the one that had it. 404 if either is unknown."""
    return ModelRepository(home.database).set_alias(ModelReference(found.name, version=target.version), alias)


@router.delete(
    "/{model}/aliases/{alias}", status_code=status.HTTP_204_NO_CONTENT, responses=error_responses(404)
)
def delete_alias(found: Found, alias: AliasName, home: OpenHome) -> None:
    """Forget an alias; the version stays. 404 if unknown."""
    ModelRepository(home.database).remove_alias(found.name, alias)


@router.delete("/{model}", status_code=status.HTTP_204_NO_CONTENT, responses=error_responses(404, 409))
def delete_model(found: Found, home: OpenHome) -> None:
    """Remove a model that has no versions. 404 if unknown, 409 while it has any."""
    remove_model(home, found.name)
