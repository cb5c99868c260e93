"""From what a person wrote to a registered version."""

from uuid import UUID

from tunix_rt.core.models.reference import ModelReference, parse_reference
from tunix_rt.core.models.version import ModelDetail, ModelVersion
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
    """A model by name or id, with its versions, or NotFoundError."""
    model = store.models.get(_id_or_name(name))
    return ModelDetail(**model.model_dump(), versions=store.models.versions(model.name))


def _id_or_name(text: str) -> str | UUID:
    try:
        return UUID(text)
    except ValueError:
        return text
