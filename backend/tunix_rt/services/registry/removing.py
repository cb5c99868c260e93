"""Versions and models that go, and the files that nobody needs any more."""

from tunix_rt.base.errors import ConflictError
from tunix_rt.base.home import Home
from tunix_rt.core.models.reference import ModelReference
from tunix_rt.core.models.version import ModelVersion
from tunix_rt.db.models import ModelRepository
from tunix_rt.files.model_garbage import Removed, remove_garbage
from tunix_rt.services.registry.registering import model_store
from tunix_rt.services.registry.uses import require_unused


def remove_version(home: Home, reference: ModelReference) -> ModelVersion:
    """Forget one version. Its files stay until `collect_garbage`.

    Raises:
        NotFoundError: There is none.
        ConflictError: Something needs it; says what, and how to release it.
    """
    # Alone: nobody registers a child of it meanwhile.
    with model_store(home.settings).alone():
        version = ModelRepository(home.database).find(reference)
        require_unused(home, version)
        ModelRepository(home.database).remove_version(version.id)
    return version


def remove_model(home: Home, name: str, *, with_versions: bool = False) -> tuple[ModelVersion, ...]:
    """Forget a model, with its versions if asked to: all of them or none.

    Raises:
        NotFoundError: There is none.
        ConflictError: It has versions, or something needs one of them.
    """
    with model_store(home.settings).alone():
        versions = ModelRepository(home.database).versions(name)
        if versions and not with_versions:
            raise ConflictError(
                f"The model {name} has {len(versions)} versions.",
                next_step=f"Remove one: tunix-rt models rm {versions[0].reference}; for all of them add "
                "--all-versions.",
            )
        for version in versions:
            require_unused(home, version)
        for version in versions:
            ModelRepository(home.database).remove_version(version.id)
        ModelRepository(home.database).remove_model(name)
    return versions


def collect_garbage(home: Home) -> Removed:
    """Remove the files that no version needs; whoever is registering is waited for.

    Raises:
        DataError: The store is damaged: nothing is removed.
    """
    files = model_store(home.settings)
    with files.alone():
        return remove_garbage(files, ModelRepository(home.database).content_hashes())
