"""List, describe, alias, tag, verify, remove; what still uses a version."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from tunix_rt.base.errors import ConflictError, DataError, InvalidInputError, TunixRTError
from tunix_rt.base.home import Home
from tunix_rt.base.records import Pagination, Record, explain_problems, pagination
from tunix_rt.base.settings import RUN_RECIPE_FILE, Settings
from tunix_rt.models.files import ModelStore, RemovedFiles, remove_garbage
from tunix_rt.models.register import model_store
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

_ALIAS: TypeAdapter[str] = TypeAdapter(Alias)
_TAG_NAME: TypeAdapter[str] = TypeAdapter(TagName)
_TAG_VALUE: TypeAdapter[str] = TypeAdapter(TagValue)
_NOTE: TypeAdapter[str] = TypeAdapter(Note)


def set_alias(home: Home, text: str, alias: str) -> ModelVersion:
    """Let `alias` mean the version that `text` names, from one moment to the next."""
    return ModelRepository(home.database).set_alias(parse_reference(text), _validate(_ALIAS, alias, "alias"))


def unset_alias(home: Home, text: str) -> ModelVersion:
    """Forget the alias that `name@alias` names; the version that it meant."""
    reference = parse_reference(text)
    if reference.alias is None:
        raise InvalidInputError(f"{text!r} names no alias.", next_step="Write NAME@ALIAS.")
    version = ModelRepository(home.database).find(reference)
    ModelRepository(home.database).remove_alias(reference.name, reference.alias)
    return ModelRepository(home.database).version(version.id)


def set_tag(home: Home, text: str, name: str, value: str) -> ModelVersion:
    """Put a tag on a version."""
    checked = _validate(_TAG_NAME, name, "name of a tag")
    return ModelRepository(home.database).set_tag(
        parse_reference(text), checked, _validate(_TAG_VALUE, value, "value of a tag")
    )


def remove_tag(home: Home, text: str, name: str) -> ModelVersion:
    """Take a tag off a version, or NotFoundError."""
    return ModelRepository(home.database).remove_tag(parse_reference(text), name)


def set_notes(home: Home, text: str, notes: str) -> ModelVersion:
    """Write what people should know about a version."""
    return ModelRepository(home.database).set_notes(parse_reference(text), _validate(_NOTE, notes, "note"))


def _validate(adapter: TypeAdapter[Any], value: str, what: str) -> str:
    try:
        checked: str = adapter.validate_python(value)
    except ValidationError as error:
        problems = explain_problems(error.errors(include_url=False), max_problems=1)
        raise InvalidInputError(
            f"{value!r} cannot be the {what}: {problems}",
            next_step="Names have up to 64 letters, digits, '.', '_' and '-'; texts no NUL characters.",
        ) from error
    return checked


class ModelList(BaseModel):
    """A page of registered models by name."""

    model_config = ConfigDict(frozen=True)
    data: tuple[RegisteredModel, ...]
    pagination: Pagination


class VersionDetail(ModelVersion):
    """A version with every evaluation of its weights, newest first."""

    evaluations: tuple[EvaluationSummary, ...]


def list_models(home: Home, *, limit: int, offset: int) -> ModelList:
    """A page of models, with the total."""
    found, total = ModelRepository(home.database).list(limit=limit, offset=offset)
    return ModelList(data=found, pagination=pagination(limit, offset, len(found), total))


def version_detail(home: Home, version_id: UUID) -> VersionDetail:
    """A version by its id, or NotFoundError."""
    version = ModelRepository(home.database).version(version_id)
    return VersionDetail(**dict(version), evaluations=evaluations_of(home.database, version))


def files_of(home: Home, version_id: UUID) -> ModelTree:
    """The files of a version, with sizes and hashes."""
    return model_store(home.settings).tree(ModelRepository(home.database).version(version_id).content_hash)


@dataclass(frozen=True)
class Dependent:
    """Something that needs a version."""

    what: str
    removal_command: str
    """The command that ends it."""


def dependents_of(home: Home, version: ModelVersion) -> list[Dependent]:
    """Aliases, baselines, versions and runs that were made from it."""
    aliases = [f"{version.model}@{alias}" for alias in version.aliases]
    named = baselines_of(home.database, version)
    children = [
        other.reference
        for other in ModelRepository(home.database).all_versions()
        if other.lineage.parent == version.reference
    ]
    runs = _runs_from(home.settings, version)
    return [
        *(Dependent(f"the alias {alias}", f"tunix-rt models unalias {alias}") for alias in aliases),
        *(Dependent(f"the baseline {name}", f"tunix-rt baselines rm {name}") for name in named),
        *(Dependent(f"{child}, trained from it", f"tunix-rt models rm {child}") for child in children),
        *(Dependent(f"the run {run_id}, trained from it", f"tunix-rt runs rm {run_id}") for run_id in runs),
    ]


def require_unused(home: Home, version: ModelVersion) -> None:
    """Refuse to remove what something needs.

    Raises:
        ConflictError: Names everything that needs it, and how the first lets go.
    """
    dependents = dependents_of(home, version)
    if dependents:
        raise ConflictError(
            f"{version.reference} is needed by {'; '.join(dependent.what for dependent in dependents)}.",
            next_step=f"Release it first: {dependents[0].removal_command}",
        )


def _runs_from(settings: Settings, version: ModelVersion) -> list[str]:
    checkout = str(ModelStore(settings.models_dir).checkouts / version.content_hash)
    recipes = sorted(settings.runs_dir.glob(f"*/{RUN_RECIPE_FILE}"))
    return [recipe.parent.name for recipe in recipes if _model_name(recipe) == checkout]


def _model_name(recipe: Path) -> str | None:
    try:
        return load_recipe(recipe).recipe.model.name
    except TunixRTError:
        return None  # being written, or of another version


def remove_version(home: Home, reference: ModelReference) -> ModelVersion:
    """Forget one version. Its files stay until `collect_garbage`.

    Raises:
        NotFoundError: There is none.
        ConflictError: Something needs it; says what, and how to release it.
    """
    # Alone: nobody registers a child of it meanwhile.
    with model_store(home.settings).exclusive_lock():
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
    with model_store(home.settings).exclusive_lock():
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


def collect_garbage(home: Home) -> RemovedFiles:
    """Remove the files that no version needs; whoever is registering is waited for.

    Raises:
        DataError: The store is damaged: nothing is removed.
    """
    files = model_store(home.settings)
    with files.exclusive_lock():
        return remove_garbage(files, ModelRepository(home.database).content_hashes())


class VersionVerdict(Record):
    """Whether the files of a version are what was registered."""

    version: str
    content_hash: str
    size_bytes: int
    problems: tuple[str, ...]
    """What is wrong, by file; empty when nothing is."""


def verify_versions(home: Home, versions: Iterable[ModelVersion]) -> Iterator[VersionVerdict]:
    """One verdict a version, as it is reached."""
    files = model_store(home.settings)
    for version in versions:
        yield VersionVerdict(
            version=version.reference,
            content_hash=version.content_hash,
            size_bytes=version.size_bytes,
            problems=tuple(_problems(files, version)),
        )


def _problems(files: ModelStore, version: ModelVersion) -> list[str]:
    try:
        return files.problems(files.tree(version.content_hash))
    except DataError as error:
        return [error.detail]
