"""From what a person wrote to a registered version."""

from uuid import UUID

from tunix_rt.core.models.reference import ModelReference, parse_reference
from tunix_rt.core.models.version import ModelDetail, ModelVersion, RegisteredModel
from tunix_rt.services.store import Store


def resolve(store: Store, text: str) -> ModelVersion:
    """The version that `name` (the newest), `name@alias`, `name:version` or `name:label` means.

    Raises:
        InvalidInputError: No registered model can be called that.
        NotFoundError: There is none.
    """
    return store.models.find(parse_reference(text))


def pinned(version: ModelVersion) -> ModelReference:
    """The reference that always means this version."""
    return ModelReference(version.model, version=version.version)


def model_detail(store: Store, name: str) -> ModelDetail:
    """A model by name, with its versions, or NotFoundError."""
    return ModelDetail(**dict(store.models.get(name)), versions=store.models.versions(name))


def find_model_by(store: Store, name_or_id: str) -> RegisteredModel:
    """A model by its name or its id, or NotFoundError."""
    try:
        return store.models.get(UUID(name_or_id))
    except ValueError:
        return store.models.get(name_or_id)
