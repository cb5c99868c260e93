"""Register weights: the files first, the database last, so that nothing is ever half-registered."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.home import Home
from tunix_rt.base.records import explain_problems
from tunix_rt.base.settings import Settings
from tunix_rt.core.models.reference import ModelName
from tunix_rt.core.models.version import ModelVersion, NewVersion, Remarks
from tunix_rt.db.models import ModelRepository
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.files.model_store import ModelStore
from tunix_rt.services.registry.checkpoints import exported_checkpoint
from tunix_rt.services.registry.parents import parent_of
from tunix_rt.services.registry.sources import (
    Source,
    run_of_id,
    source_of_directory,
    source_of_run,
    succeeded,
)

_NAME: TypeAdapter[str] = TypeAdapter(ModelName)


@dataclass(frozen=True)
class Registration:
    """The version, and whether it was not there before."""

    version: ModelVersion
    is_new: bool


def register_run(
    home: Home, name: str, run_id: str, *, step: int | None = None, remarks: Remarks | None = None
) -> Registration:
    """Register the model of a run of the home directory, or one of its checkpoints.

    The same content under the same name is the version that is there.

    Raises:
        NotFoundError: There is no such run, or no checkpoint of the step.
        ConflictError: The run did not succeed; or another version has the label.
        DataError: The run's files are not what it wrote.
    """
    return register_run_dir(home, name, run_of_id(home.settings, run_id), step=step, remarks=remarks)


def register_run_dir(
    home: Home, name: str, run_dir: RunDir, *, step: int | None = None, remarks: Remarks | None = None
) -> Registration:
    """The same for a run that lies anywhere."""
    checked_name(name)
    figures = succeeded(run_dir).figures
    if step is None or (figures is not None and figures.exported_step == step):
        return _register(home, name, source_of_run(run_dir), remarks)
    with exported_checkpoint(home.settings, run_dir, step) as source:
        return _register(home, name, source, remarks)


def register_directory(
    home: Home, name: str, directory: Path, *, remarks: Remarks | None = None
) -> Registration:
    """Register a model or an adapter that lies anywhere.

    Raises:
        InvalidInputError: The directory holds neither.
        ConflictError: Another version has the label.
    """
    checked_name(name)
    return _register(home, name, source_of_directory(directory), remarks)


def checked_name(name: str) -> str:
    """A name that a model may have, or an error before anything is read."""
    try:
        return _NAME.validate_python(name)
    except ValidationError as error:
        problems = explain_problems(error.errors(include_url=False), max_problems=1)
        raise InvalidInputError(
            f"A model cannot be called {name!r}: {problems}",
            next_step="Use up to 128 letters, digits, '.', '_' and '-', beginning with a letter or digit.",
        ) from error


def model_store(settings: Settings) -> ModelStore:
    """Where the weights are."""
    return ModelStore(settings.models_dir)


def remarks_of(label: str | None, notes: str, tags: Mapping[str, str]) -> Remarks:
    """What was typed about a version, or an error that says what is wrong with it."""
    try:
        return Remarks(label=label, notes=notes, tags=dict(tags))
    except ValidationError as error:
        problems = explain_problems(error.errors(include_url=False), max_problems=3)
        raise InvalidInputError(
            f"The version cannot be described like this: {problems}",
            next_step="Correct the label, the notes or the tags.",
        ) from error


def _register(home: Home, name: str, source: Source, remarks: Remarks | None) -> Registration:
    files = model_store(home.settings)
    parent = parent_of(home, source.lineage)
    with files.adding():
        tree = files.add(source.directory)
        source.require_unchanged(tree)
        new = NewVersion(
            kind=source.kind,
            content_hash=tree.content_hash,
            size_bytes=tree.size_bytes,
            num_files=len(tree.files),
            markup=source.markup,
            lineage=source.lineage.model_copy(update={"parent": parent}),
            **(remarks or Remarks()).model_dump(),
        )
        version, is_new = ModelRepository(home.database).add_version(name, new)
    return Registration(version, is_new)
