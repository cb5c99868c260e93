"""A registered version as a directory that engines and other programs load."""

from pathlib import Path

from tunix_rt.base.settings import Settings
from tunix_rt.core.models.version import ModelVersion
from tunix_rt.services.registry.registering import model_store


def directory_of(settings: Settings, version: ModelVersion) -> Path:
    """The version's files, every byte checked; for an adapter, the adapter's. Never write into it.

    Raises:
        DataError: A file is missing or is not what was registered; it is named.
    """
    return model_store(settings).checkout(version.content_hash)
