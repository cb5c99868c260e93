"""What a registered version is to an engine: which files, on top of which model."""

from dataclasses import dataclass
from pathlib import Path

from tunix_rt.base.errors import DataError
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.settings import Settings
from tunix_rt.core.models.reference import is_reference, parse_reference
from tunix_rt.core.models.version import ModelVersion
from tunix_rt.db.models import ModelRepository
from tunix_rt.recipes.types import ModelSection
from tunix_rt.services.registry.checkout import directory_of
from tunix_rt.services.registry.resolving import resolve


@dataclass(frozen=True)
class LoadableVersion:
    """A version whose files are at hand and checked."""

    version: ModelVersion
    section: ModelSection
    adapter: Path | None = None
    seed: int = 0
    drawn_by: str | None = None


def find_registered(settings: Settings, name: str) -> LoadableVersion | None:
    """The registered version of this name; None: it names no registered model.

    Raises:
        NotFoundError: It names an alias or a version that is not there.
        DataError: Its files are damaged.
    """
    # A bare name may mean anything; the database is only asked where something was ever registered.
    if not is_reference(name) and not settings.models_dir.is_dir():
        return None
    home = open_home(settings)
    try:
        if not is_reference(name) and name not in ModelRepository(home.database).names():
            return None
        return loadable(home, resolve(home, name))
    finally:
        home.close()


def loadable(home: Home, version: ModelVersion) -> LoadableVersion:
    """The files of a version, and of what it needs."""
    directory = directory_of(home.settings, version)
    if version.kind == "model":
        return LoadableVersion(version, ModelSection(name=str(directory)))
    base = version.lineage.base
    if base is None:
        raise DataError(
            f"The adapter {version.reference} does not say what it belongs to.",
            next_step="Register it again: the run or the adapter_config.json names its base model.",
        )
    name, parent = base.name, version.lineage.parent
    if parent is not None:
        name = str(directory_of(home.settings, ModelRepository(home.database).find(parse_reference(parent))))
    section = ModelSection(
        name=name,
        revision=base.revision,
        weights=base.weights,
        tokenizer=str(directory) if (directory / "tokenizer.json").is_file() else None,
    )
    return LoadableVersion(version, section, directory, seed=base.seed or 0, drawn_by=base.drawn_by)
