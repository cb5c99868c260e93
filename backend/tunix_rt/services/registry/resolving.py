"""From what a person wrote to a registered version."""

from uuid import UUID

from tunix_rt.base.home import Home
from tunix_rt.core.models.reference import ModelReference, parse_reference
from tunix_rt.core.models.version import ModelDetail, ModelVersion, RegisteredModel
from tunix_rt.db.models import ModelRepository


def resolve(home: Home, text: str) -> ModelVersion:
    """The version that `name` (the newest), `name@alias`, `name:version` or `name:label` means.

    Raises:
        InvalidInputError: No registered model can be called that.
        NotFoundError: There is none.
    """
    return ModelRepository(home.database).find(parse_reference(text))


def pinned(version: ModelVersion) -> ModelReference:
    """The reference that always means this version."""
    return ModelReference(version.model, version=version.version)


def model_detail(home: Home, name: str) -> ModelDetail:
    """A model by name, with its versions, or NotFoundError."""
    return ModelDetail(
        **dict(ModelRepository(home.database).get(name)),
        versions=ModelRepository(home.database).versions(name),
    )


def find_model_by(home: Home, name_or_id: str) -> RegisteredModel:
    """A model by its name or its id, or NotFoundError."""
    try:
        return ModelRepository(home.database).get(UUID(name_or_id))
    except ValueError:
        return ModelRepository(home.database).get(name_or_id)
