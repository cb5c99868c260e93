"""Rows of the registry as core types."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, func, select

from tunix_rt.base.db.schema import model_aliases, model_tags, model_versions, models
from tunix_rt.base.records import Record
from tunix_rt.core.models.reference import ModelReference
from tunix_rt.core.models.version import ModelLineage, ModelVersion, RegisteredModel
from tunix_rt.traces.types import MarkupStyle


class VersionRecord(Record):
    """What the column `record` holds: what no query asks for."""

    markup: MarkupStyle
    lineage: ModelLineage


def select_versions() -> Select[Any]:
    """Versions with the names of their models."""
    joined = models.c.pk == model_versions.c.model_pk
    return select(model_versions, models.c.name.label("model")).join(models, joined)


def named_by(chosen: Select[Any], reference: ModelReference) -> Select[Any]:
    """Of these versions the one that a reference means: the newest unless it says more."""
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
    """The chosen versions, with their tags and aliases."""
    rows = connection.execute(chosen).all()
    pks = [row.pk for row in rows]
    tags = _tags(connection, pks)
    aliases = _aliases(connection, pks)
    return tuple(_version(row, tags.get(row.pk, {}), aliases.get(row.pk, [])) for row in rows)


def read_models(connection: Connection, chosen: Select[Any]) -> tuple[RegisteredModel, ...]:
    """The chosen models, with what is known of their versions."""
    rows = connection.execute(chosen).all()
    pks = [row.pk for row in rows]
    counted = (
        select(model_versions.c.model_pk, func.count().label("n"), func.max(model_versions.c.version))
        .where(model_versions.c.model_pk.in_(pks))
        .group_by(model_versions.c.model_pk)
    )
    counts = {pk: (num_versions, latest) for pk, num_versions, latest in connection.execute(counted)}
    pointed = (
        select(model_aliases.c.model_pk, model_aliases.c.alias, model_versions.c.version)
        .join(model_versions, model_versions.c.pk == model_aliases.c.version_pk)
        .where(model_aliases.c.model_pk.in_(pks))
        .order_by(model_aliases.c.alias)
    )
    aliases: dict[int, dict[str, int]] = {}
    for pk, alias, version in connection.execute(pointed):
        aliases.setdefault(pk, {})[alias] = version
    return tuple(_model(row, *counts.get(row.pk, (0, None)), aliases.get(row.pk, {})) for row in rows)


def _tags(connection: Connection, pks: Sequence[int]) -> dict[int, dict[str, str]]:
    chosen = select(model_tags).where(model_tags.c.version_pk.in_(pks)).order_by(model_tags.c.name)
    tags: dict[int, dict[str, str]] = {}
    for pk, name, value in connection.execute(chosen):
        tags.setdefault(pk, {})[name] = value
    return tags


def _aliases(connection: Connection, pks: Sequence[int]) -> dict[int, list[str]]:
    chosen = select(model_aliases.c.version_pk, model_aliases.c.alias).where(
        model_aliases.c.version_pk.in_(pks)
    )
    aliases: dict[int, list[str]] = {}
    for pk, alias in connection.execute(chosen.order_by(model_aliases.c.alias)):
        aliases.setdefault(pk, []).append(alias)
    return aliases


def _version(row: Row[Any], tags: dict[str, str], aliases: list[str]) -> ModelVersion:
    record = VersionRecord.model_validate_json(row.record)
    return ModelVersion(
        id=row.id,
        model=row.model,
        version=row.version,
        label=row.label,
        kind=row.kind,
        content_hash=row.content_hash,
        size_bytes=row.size_bytes,
        num_files=row.num_files,
        markup=record.markup,
        lineage=record.lineage,
        notes=row.notes,
        tags=tags,
        aliases=tuple(aliases),
        created_at=row.created_at,
    )


def _model(row: Row[Any], num_versions: int, latest: int | None, aliases: dict[str, int]) -> RegisteredModel:
    return RegisteredModel(
        id=row.id,
        name=row.name,
        description=row.description,
        task_type=row.task_type,
        created_at=row.created_at,
        updated_at=row.updated_at,
        num_versions=num_versions,
        latest_version=latest,
        aliases=aliases,
    )
