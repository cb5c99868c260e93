"""Use cases of the registry: list, alias, tag, annotate, verify and remove."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from tunix_rt.base.errors import ConflictError, DataError, InvalidInputError, TunixRTError
from tunix_rt.base.home import Home
from tunix_rt.base.records import Pagination, Record, explain_validation_error, pagination
from tunix_rt.base.settings import RUN_RECIPE_FILE
from tunix_rt.models.files import ModelStore, RemovedFiles, remove_garbage
from tunix_rt.models.store import ModelRepository, baselines_of, evaluations_of
from tunix_rt.models.types import (
    Alias,
    EvaluationSummary,
    ModelReference,
    ModelTree,
    ModelVersion,
    Note,
    RegisteredModel,
    TagName,
    TagValue,
    parse_reference,
)
from tunix_rt.recipes.load import load_recipe


def set_alias(home: Home, text: str, alias: str) -> ModelVersion:
    """Move `alias` atomically to the version that `text` refers to."""
    return ModelRepository(home.database).set_alias(parse_reference(text), _validate(Alias, alias, "alias"))


def unset_alias(home: Home, text: str) -> ModelVersion:
    """Delete the alias `name@alias` and return the version it pointed to."""
    reference = parse_reference(text)
    if reference.alias is None:
        raise InvalidInputError(f"{text!r} is not an alias.", next_step="Use the form NAME@ALIAS.")
    models = ModelRepository(home.database)
    version = models.find(reference)
    models.remove_alias(reference.name, reference.alias)
    return models.version(version.id)


def set_tag(home: Home, text: str, name: str, value: str) -> ModelVersion:
    """Set a tag of a version."""
    name, value = _validate(TagName, name, "tag name"), _validate(TagValue, value, "tag value")
    return ModelRepository(home.database).set_tag(parse_reference(text), name, value)


def set_notes(home: Home, text: str, notes: str) -> ModelVersion:
    """Replace the notes of a version."""
    return ModelRepository(home.database).set_notes(parse_reference(text), _validate(Note, notes, "note"))


def _validate(kind: Any, value: str, what: str) -> str:
    try:
        return str(TypeAdapter(kind).validate_python(value))
    except ValidationError as error:
        problems = explain_validation_error(error)
        raise InvalidInputError(
            f"{value!r} is not a valid {what}: {problems}",
            next_step="Names have up to 64 letters, digits, '.', '_' and '-'; texts have no NUL characters.",
        ) from error


class ModelList(BaseModel):
    """A page of registered models by name."""

    model_config = ConfigDict(frozen=True)
    data: tuple[RegisteredModel, ...]
    pagination: Pagination


class VersionDetail(ModelVersion):
    """A version with every evaluation of its weights, newest first."""

    evaluations: tuple[EvaluationSummary, ...]


def list_models(home: Home, *, limit: int, offset: int) -> ModelList:
    """A page of models with the total."""
    found, total = ModelRepository(home.database).list(limit=limit, offset=offset)
    return ModelList(data=found, pagination=pagination(limit, offset, len(found), total))


def version_detail(home: Home, version_id: UUID) -> VersionDetail:
    """A version by its id, or NotFoundError."""
    version = ModelRepository(home.database).version(version_id)
    return VersionDetail(**dict(version), evaluations=evaluations_of(home.database, version))


def files_of(home: Home, version_id: UUID) -> ModelTree:
    """The files of a version, with sizes and hashes."""
    version = ModelRepository(home.database).version(version_id)
    return ModelStore(home.settings.models_dir).tree(version.content_hash)


def _require_unused(home: Home, version: ModelVersion) -> None:
    """Refuse to remove a version that aliases, baselines, versions or runs depend on.

    Raises:
        ConflictError: Names all of them and the command that removes the first.
    """
    dependents = {}
    for alias in version.aliases:
        name = f"{version.model}@{alias}"
        dependents[f"the alias {name}"] = f"tunix-rt models unalias {name}"
    for name in baselines_of(home.database, version):
        dependents[f"the baseline {name}"] = f"tunix-rt baselines rm {name}"
    for other in ModelRepository(home.database).all_versions():
        if other.lineage.parent == version.reference:
            dependents[f"{other.reference}, trained from it"] = f"tunix-rt models rm {other.reference}"
    checkout = str(ModelStore(home.settings.models_dir).checkouts / version.content_hash)
    for recipe in sorted(home.settings.runs_dir.glob(f"*/{RUN_RECIPE_FILE}")):
        # Unreadable: the recipe is being written, or belongs to another version of Tunix RT.
        with suppress(TunixRTError):
            if load_recipe(recipe).recipe.model.name == checkout:
                run_id = recipe.parent.name
                dependents[f"the run {run_id}, trained from it"] = f"tunix-rt runs rm {run_id}"
    if dependents:
        raise ConflictError(
            f"{version.reference} is needed by {'; '.join(dependents)}.",
            next_step=f"First run: {next(iter(dependents.values()))}",
        )


def remove_version(home: Home, reference: ModelReference) -> ModelVersion:
    """Remove a version. Its files stay until `collect_garbage`.

    Raises:
        NotFoundError: There is none.
        ConflictError: Something depends on it.
    """
    # The lock keeps others from registering a child of it meanwhile.
    models = ModelRepository(home.database)
    with ModelStore(home.settings.models_dir).exclusive_lock():
        version = models.find(reference)
        _require_unused(home, version)
        models.remove_version(version.id)
    return version


def remove_model(home: Home, name: str, *, with_versions: bool = False) -> tuple[ModelVersion, ...]:
    """Remove a model, and its versions if requested: all of them or none.

    Raises:
        NotFoundError: There is none.
        ConflictError: It has versions, or something depends on one of them.
    """
    models = ModelRepository(home.database)
    with ModelStore(home.settings.models_dir).exclusive_lock():
        versions = models.versions(name)
        if versions and not with_versions:
            raise ConflictError(
                f"The model {name} has {len(versions)} versions.",
                next_step=f"Remove one: tunix-rt models rm {versions[0].reference}, or add --all-versions.",
            )
        for version in versions:
            _require_unused(home, version)
        for version in versions:
            models.remove_version(version.id)
        models.remove_model(name)
    return versions


def collect_garbage(home: Home) -> RemovedFiles:
    """Remove the files that no version needs, after waiting for registrations in progress.

    Raises:
        DataError: The store is damaged; nothing is removed.
    """
    files = ModelStore(home.settings.models_dir)
    with files.exclusive_lock():
        return remove_garbage(files, ModelRepository(home.database).content_hashes())


class VersionVerdict(Record):
    """Whether the files of a version are unchanged."""

    version: str
    content_hash: str
    size_bytes: int
    problems: tuple[str, ...]
    """One per damaged file; empty if the version is intact."""


def verify_versions(home: Home, versions: Iterable[ModelVersion]) -> Iterator[VersionVerdict]:
    """Yield one verdict per version as soon as it is known."""
    files = ModelStore(home.settings.models_dir)
    for version in versions:
        try:
            problems = files.problems(files.tree(version.content_hash))
        except DataError as error:
            problems = [error.detail]
        yield VersionVerdict(
            version=version.reference,
            content_hash=version.content_hash,
            size_bytes=version.size_bytes,
            problems=tuple(problems),
        )
