"""Models and versions as lists and details show them."""

from uuid import UUID

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.home import Home
from tunix_rt.base.records import Pagination, pagination
from tunix_rt.core.evaluation.record import EvaluationSummary
from tunix_rt.core.models.tree import ModelTree
from tunix_rt.core.models.version import ModelVersion, RegisteredModel
from tunix_rt.db.model_uses import evaluations_of
from tunix_rt.db.models import ModelRepository
from tunix_rt.services.registry.registering import model_store


class ModelList(BaseModel):
    """A page of registered models by name."""

    model_config = ConfigDict(frozen=True)
    data: tuple[RegisteredModel, ...]
    pagination: Pagination


class VersionDetail(ModelVersion):
    """A version with every evaluation of its weights, newest first."""

    evaluations: tuple[EvaluationSummary, ...]


def list_models(home: Home, *, limit: int, offset: int) -> ModelList:
    """A page of models, with the total."""
    found, total = ModelRepository(home.database).list(limit=limit, offset=offset)
    return ModelList(data=found, pagination=pagination(limit, offset, len(found), total))


def version_detail(home: Home, version_id: UUID) -> VersionDetail:
    """A version by its id, or NotFoundError."""
    version = ModelRepository(home.database).version(version_id)
    return VersionDetail(**dict(version), evaluations=evaluations_of(home.database, version))


def files_of(home: Home, version_id: UUID) -> ModelTree:
    """The files of a version, with sizes and hashes."""
    return model_store(home.settings).tree(ModelRepository(home.database).version(version_id).content_hash)
