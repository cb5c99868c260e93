"""Trainings that started from a registered version: which one it was."""

from pathlib import Path

from tunix_rt.core.models.version import Lineage
from tunix_rt.files.model_store import ModelStore
from tunix_rt.services.store import Store


def parent_of(store: Store, lineage: Lineage) -> str | None:
    """The version whose checkout the training was given as its base model; None: it was none."""
    if lineage.base is None:
        return None
    checkouts = ModelStore(store.settings.models_dir).checkouts
    directory = Path(lineage.base.name)
    if directory.parent != checkouts:
        return None
    same = [version for version in store.models.all_versions() if version.content_hash == directory.name]
    return same[-1].reference if same else None
