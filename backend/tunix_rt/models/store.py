"""SQL queries for models, versions, aliases and what refers to a version."""

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, Connection, Engine, Select, delete, func, insert, or_, select, update

from tunix_rt.base.db.engine import reading, writing
from tunix_rt.base.db.schema import baselines, evaluations, model_aliases, model_tags, model_versions, models
from tunix_rt.base.db.statements import insert_or_ignore, insert_or_update
from tunix_rt.base.errors import ConflictError, NotFoundError, did_you_mean
from tunix_rt.base.records import Record
from tunix_rt.models.types import (
    EvaluationSummary,
    ModelLineage,
    ModelReference,
    ModelVersion,
    NewModel,
    NewVersion,
    RegisteredModel,
)
from tunix_rt.traces.types import MarkupStyle


class VersionRecord(Record):
    """Content of the column `record`: the fields that no query filters by."""

    markup: MarkupStyle
    lineage: ModelLineage


def select_versions() -> Select[Any]:
    """Select versions with the names of their models."""
    joined = models.c.pk == model_versions.c.model_pk
    return select(model_versions, models.c.name.label("model")).join(models, joined)


def where_reference(chosen: Select[Any], reference: ModelReference) -> Select[Any]:
    """Restrict the selection to the version of a reference; a bare name means the newest."""
    chosen = chosen.where(models.c.name == reference.name)
    if reference.version is not None:
        chosen = chosen.where(model_versions.c.version == reference.version)
    if reference.label is not None:
        chosen = chosen.where(model_versions.c.label == reference.label)
    if reference.alias is not None:
        pointed = model_aliases.c.version_pk == model_versions.c.pk
        chosen = chosen.join(model_aliases, pointed).where(model_aliases.c.alias == reference.alias)
    return chosen.order_by(model_versions.c.version.desc()).limit(1)


def read_versions(connection: Connection, chosen: Select[Any]) -> tuple[ModelVersion, ...]:
    """Execute the selection and add tags and aliases."""
    rows = connection.execute(chosen).all()
    pks = [row.pk for row in rows]
    tags: dict[int, dict[str, str]] = defaultdict(dict)
    tag_rows = select(model_tags).where(model_tags.c.version_pk.in_(pks)).order_by(model_tags.c.name)
    for pk, name, value in connection.execute(tag_rows):
        tags[pk][name] = value
    aliases: dict[int, list[str]] = defaultdict(list)
    alias_rows = select(model_aliases.c.version_pk, model_aliases.c.alias).order_by(model_aliases.c.alias)
    for pk, alias in connection.execute(alias_rows.where(model_aliases.c.version_pk.in_(pks))):
        aliases[pk].append(alias)
    return tuple(
        ModelVersion(
            **{name: value for name, value in row._mapping.items() if name in ModelVersion.model_fields},
            **dict(VersionRecord.model_validate_json(row.record)),
            tags=tags[row.pk],
            aliases=tuple(aliases[row.pk]),
        )
        for row in rows
    )


def read_models(connection: Connection, chosen: Select[Any]) -> tuple[RegisteredModel, ...]:
    """Execute the selection and add what is derived from the versions."""
    rows = connection.execute(chosen).all()
    pks = [row.pk for row in rows]
    derived: dict[int, dict[str, Any]] = {pk: {"aliases": {}} for pk in pks}
    version_counts = (
        select(model_versions.c.model_pk, func.count(), func.max(model_versions.c.version))
        .where(model_versions.c.model_pk.in_(pks))
        .group_by(model_versions.c.model_pk)
    )
    for pk, num_versions, latest in connection.execute(version_counts):
        derived[pk] |= {"num_versions": num_versions, "latest_version": latest}
    alias_rows = (
        select(model_aliases.c.model_pk, model_aliases.c.alias, model_versions.c.version)
        .join(model_versions, model_versions.c.pk == model_aliases.c.version_pk)
        .where(model_aliases.c.model_pk.in_(pks))
        .order_by(model_aliases.c.alias)
    )
    for pk, alias, version in connection.execute(alias_rows):
        derived[pk]["aliases"][alias] = version
    return tuple(
        RegisteredModel(
            **{name: value for name, value in row._mapping.items() if name in RegisteredModel.model_fields},
            **derived[row.pk],
        )
        for row in rows
    )


def evaluations_of(engine: Engine, version: ModelVersion) -> tuple[EvaluationSummary, ...]:
    """Every evaluation of these weights, newest first, by version or by the run that exported them."""
    chosen = select(evaluations.c.summary).where(_matches_version(version))
    newest = chosen.order_by(evaluations.c.created_at.desc(), evaluations.c.pk.desc())
    with reading(engine) as connection:
        return tuple(map(EvaluationSummary.model_validate_json, connection.execute(newest).scalars()))


def baselines_of(engine: Engine, version: ModelVersion) -> tuple[str, ...]:
    """Names of the baselines that use an evaluation of these weights."""
    joined = select(baselines.c.name).join(evaluations, evaluations.c.pk == baselines.c.evaluation_pk)
    named = joined.where(_matches_version(version)).order_by(baselines.c.name)
    with reading(engine) as connection:
        return tuple(connection.execute(named).scalars())


def _matches_version(version: ModelVersion) -> ColumnElement[bool]:
    is_version = evaluations.c.model_name == version.reference
    # A checkpoint has other weights than the run exported, and so other scores.
    run_id = None if version.lineage.is_checkpoint else version.lineage.run_id
    return is_version if run_id is None else or_(is_version, evaluations.c.run_id == run_id)


class ModelRepository:
    """Registered models in SQLite or PostgreSQL. Every method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def create(self, model: NewModel) -> RegisteredModel:
        """Create a model without versions; ConflictError if the name is taken."""
        with writing(self._engine) as connection:
            if not _insert_model(connection, model):
                raise ConflictError(
                    f"The model {model.name!r} already exists.",
                    next_step=f"Show it: tunix-rt models show {model.name}",
                )
            return _get_model(connection, model.name)

    def get(self, name: str | UUID) -> RegisteredModel:
        """The model with this name or id, or NotFoundError with the nearest names."""
        with reading(self._engine) as connection:
            return _get_model(connection, name)

    def list(self, *, limit: int, offset: int) -> tuple[tuple[RegisteredModel, ...], int]:
        """A page of models by name, and the total number."""
        page = select(models).order_by(models.c.name).limit(limit).offset(offset)
        with reading(self._engine) as connection:
            total = connection.execute(select(func.count()).select_from(models)).scalar_one()
            return read_models(connection, page), total

    def names(self) -> tuple[str, ...]:
        """The names of all models, sorted."""
        with reading(self._engine) as connection:
            return _names(connection)

    def add_version(self, name: str, version: NewVersion) -> tuple[ModelVersion, bool]:
        """Register a version, creating the model if necessary. False: the same content already exists.

        Raises:
            ConflictError: Another version has the label.
        """
        with writing(self._engine) as connection:
            _insert_model(connection, NewModel(name=name))
            # Locked: concurrent registrations get different numbers, or one version for equal content.
            model = connection.execute(
                select(models.c.pk, models.c.last_version).where(models.c.name == name).with_for_update()
            ).one()
            of_model = model_versions.c.model_pk == model.pk
            same = select_versions().where(of_model, model_versions.c.content_hash == version.content_hash)
            if found := read_versions(connection, same):
                return found[0], False
            if version.label is not None:
                labelled = where_reference(select_versions(), ModelReference(name, label=version.label))
                if taken := read_versions(connection, labelled):
                    raise ConflictError(
                        f"{taken[0].reference} has the label {version.label!r} and other weights.",
                        next_step="Choose another label: labels are permanent. "
                        "Use an alias for a name that can move.",
                    )
            number = model.last_version + 1
            pk = _insert_version(connection, model.pk, number, version)
            _mark_updated(connection, model.pk, last_version=number)
            return read_versions(connection, select_versions().where(model_versions.c.pk == pk))[0], True

    def versions(self, name: str) -> tuple[ModelVersion, ...]:
        """All versions of a model, newest first, or NotFoundError."""
        chosen = select_versions().where(models.c.name == name).order_by(model_versions.c.version.desc())
        with reading(self._engine) as connection:
            _get_model(connection, name)
            return read_versions(connection, chosen)

    def all_versions(self) -> tuple[ModelVersion, ...]:
        """Every version of every model."""
        with reading(self._engine) as connection:
            return read_versions(connection, select_versions().order_by(model_versions.c.pk))

    def version(self, version_id: UUID) -> ModelVersion:
        """The version with this id, or NotFoundError."""
        with reading(self._engine) as connection:
            return _get_version(connection, version_id)

    def find(self, reference: ModelReference) -> ModelVersion:
        """The version of a reference, or NotFoundError that lists what exists."""
        with reading(self._engine) as connection:
            return _find(connection, reference)

    def set_alias(self, reference: ModelReference, alias: str) -> ModelVersion:
        """Move the alias to this version atomically."""

        def move(connection: Connection, pk: int, model_pk: int) -> None:
            values = {"version_pk": pk, "moved_at": datetime.now(UTC)}
            row = {"model_pk": model_pk, "alias": alias, **values}
            insert_or_update(connection, model_aliases, row, ["model_pk", "alias"], values)

        return self._change(reference, move)

    def remove_alias(self, name: str, alias: str) -> None:
        """Delete an alias, or NotFoundError; the version stays."""
        with writing(self._engine) as connection:
            found = _find(connection, ModelReference(name, alias=alias))
            model_pk = select(model_versions.c.model_pk).where(model_versions.c.id == found.id)
            of_model = model_aliases.c.model_pk == model_pk.scalar_subquery()
            connection.execute(delete(model_aliases).where(of_model, model_aliases.c.alias == alias))

    def set_tag(self, reference: ModelReference, name: str, value: str) -> ModelVersion:
        """Set a tag of a version, replacing one with the same name."""

        def set_value(connection: Connection, pk: int, _model_pk: int) -> None:
            row = {"version_pk": pk, "name": name, "value": value}
            insert_or_update(connection, model_tags, row, ["version_pk", "name"], {"value": value})

        return self._change(reference, set_value)

    def remove_tag(self, reference: ModelReference, name: str) -> ModelVersion:
        """Remove a tag from a version, or NotFoundError."""

        def remove(connection: Connection, pk: int, _model_pk: int) -> None:
            chosen = delete(model_tags).where(model_tags.c.version_pk == pk, model_tags.c.name == name)
            if not connection.execute(chosen).rowcount:
                raise NotFoundError(
                    f"{reference} has no tag {name!r}.",
                    next_step=f"Show its tags: tunix-rt models show {reference}",
                )

        return self._change(reference, remove)

    def set_notes(self, reference: ModelReference, notes: str) -> ModelVersion:
        """Replace the notes of a version."""

        def write(connection: Connection, pk: int, _model_pk: int) -> None:
            of_version = model_versions.c.pk == pk
            connection.execute(update(model_versions).where(of_version).values(notes=notes))

        return self._change(reference, write)

    def _change(
        self, reference: ModelReference, change: Callable[[Connection, int, int], None]
    ) -> ModelVersion:
        with writing(self._engine) as connection:
            version_id = _find(connection, reference).id
            # Locked: it cannot be removed concurrently.
            keys = select(model_versions.c.pk, model_versions.c.model_pk)
            row = connection.execute(
                keys.where(model_versions.c.id == version_id).with_for_update()
            ).one_or_none()
            if row is not None:
                change(connection, row.pk, row.model_pk)
                _mark_updated(connection, row.model_pk)
            return _get_version(connection, version_id)

    def remove_version(self, version_id: UUID) -> None:
        """Delete a version; its files stay until the garbage is collected.

        Raises:
            NotFoundError: There is no version with this id.
            ConflictError: An alias points to it.
        """
        with writing(self._engine) as connection:
            locked = select(model_versions.c.pk).where(model_versions.c.id == version_id).with_for_update()
            pk = connection.execute(locked).scalar_one_or_none()
            version = _get_version(connection, version_id)
            if version.aliases:
                aliases = ", ".join(f"@{alias}" for alias in version.aliases)
                raise ConflictError(
                    f"{version.reference} has the alias {aliases}.",
                    next_step="Move the alias to another version, or delete it: "
                    f"tunix-rt models unalias {version.model}@{version.aliases[0]}",
                )
            connection.execute(delete(model_versions).where(model_versions.c.pk == pk))

    def remove_model(self, name: str) -> None:
        """Delete a model; ConflictError while it has versions."""
        with writing(self._engine) as connection:
            locked = select(models.c.pk).where(models.c.name == name).with_for_update()
            pk = connection.execute(locked).scalar_one_or_none()
            model = _get_model(connection, name)
            if model.num_versions:
                raise ConflictError(
                    f"The model {name} has {model.num_versions} versions.",
                    next_step=f"Remove them first: tunix-rt models rm {name}:{model.latest_version}",
                )
            connection.execute(delete(models).where(models.c.pk == pk))

    def content_hashes(self) -> frozenset[str]:
        """The content hashes of all versions, whose files must be kept."""
        with reading(self._engine) as connection:
            return frozenset(connection.execute(select(model_versions.c.content_hash)).scalars())


def _insert_model(connection: Connection, model: NewModel) -> bool:
    now = datetime.now(UTC)
    times = {"created_at": now, "updated_at": now}
    row = {"id": uuid4(), "last_version": 0, **model.model_dump(), **times}
    return insert_or_ignore(connection, models, row, ["name"])


def _insert_version(connection: Connection, model_pk: int, number: int, version: NewVersion) -> int:
    lineage = version.lineage
    row = {
        "id": uuid4(),
        "model_pk": model_pk,
        "version": number,
        "source_run_id": lineage.run_id,
        "source_step": lineage.step,
        "base_model": None if lineage.base is None else lineage.base.name,
        "dataset": lineage.dataset,
        "record": VersionRecord(markup=version.markup, lineage=lineage).model_dump_json(exclude_none=True),
        "created_at": datetime.now(UTC),
        **version.model_dump(exclude={"markup", "lineage", "tags"}),
    }
    pk = connection.execute(insert(model_versions).values(row).returning(model_versions.c.pk)).scalar_one()
    tags = [{"version_pk": pk, "name": name, "value": value} for name, value in version.tags.items()]
    if tags:
        connection.execute(insert(model_tags), tags)
    return int(pk)


def _mark_updated(connection: Connection, model_pk: int, **values: Any) -> None:
    changed = {"updated_at": datetime.now(UTC), **values}
    connection.execute(update(models).where(models.c.pk == model_pk).values(**changed))


def _get_model(connection: Connection, name: str | UUID) -> RegisteredModel:
    column = models.c.id if isinstance(name, UUID) else models.c.name
    found = read_models(connection, select(models).where(column == name))
    if not found:
        known = _names(connection)
        hint = (
            did_you_mean(str(name), known)
            if known
            else "Register one: tunix-rt models register NAME --run RUN"
        )
        raise NotFoundError(f"There is no registered model {str(name)!r}.", next_step=hint)
    return found[0]


def _get_version(connection: Connection, version_id: UUID) -> ModelVersion:
    found = read_versions(connection, select_versions().where(model_versions.c.id == version_id))
    if not found:
        raise NotFoundError(
            f"There is no model version {version_id}.", next_step="List them: tunix-rt models list"
        )
    return found[0]


def _find(connection: Connection, reference: ModelReference) -> ModelVersion:
    found = read_versions(connection, where_reference(select_versions(), reference))
    if found:
        return found[0]
    model = _get_model(connection, reference.name)
    if not model.num_versions:
        raise NotFoundError(
            f"The model {reference.name} has no versions.",
            next_step=f"Register one: tunix-rt models register {reference.name} --run RUN",
        )
    aliases = ", ".join(f"@{alias}" for alias in model.aliases) or "none"
    raise NotFoundError(
        f"There is no {reference}.",
        next_step=f"Its newest version is {model.latest_version}; its aliases: {aliases}.",
    )


def _names(connection: Connection) -> tuple[str, ...]:
    return tuple(connection.execute(select(models.c.name).order_by(models.c.name)).scalars())
