"""Trainings that started from a registered version: which one it was."""

from pathlib import Path

from tunix_rt.base.home import Home
from tunix_rt.core.models.version import ModelLineage
from tunix_rt.db.models import ModelRepository
from tunix_rt.files.model_store import ModelStore


def parent_of(home: Home, lineage: ModelLineage) -> str | None:
    """The version whose checkout the training was given as its base model; None: it was none."""
    if lineage.base is None:
        return None
    checkouts = ModelStore(home.settings.models_dir).checkouts
    directory = Path(lineage.base.name)
    if directory.parent != checkouts:
        return None
    same = [
        version
        for version in ModelRepository(home.database).all_versions()
        if version.content_hash == directory.name
    ]
    return same[-1].reference if same else None
