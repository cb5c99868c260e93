"""Aliases, tags and notes: what people may change about a version."""

from typing import Any

from pydantic import TypeAdapter, ValidationError

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.home import Home
from tunix_rt.base.records import explain_problems
from tunix_rt.core.models.reference import Alias, TagName, parse_reference
from tunix_rt.core.models.version import ModelVersion, Note, TagValue
from tunix_rt.db.models import ModelRepository

_ALIAS: TypeAdapter[str] = TypeAdapter(Alias)
_TAG_NAME: TypeAdapter[str] = TypeAdapter(TagName)
_TAG_VALUE: TypeAdapter[str] = TypeAdapter(TagValue)
_NOTE: TypeAdapter[str] = TypeAdapter(Note)


def set_alias(home: Home, text: str, alias: str) -> ModelVersion:
    """Let `alias` mean the version that `text` names, from one moment to the next."""
    return ModelRepository(home.database).set_alias(parse_reference(text), _checked(_ALIAS, alias, "alias"))


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
    checked = _checked(_TAG_NAME, name, "name of a tag")
    return ModelRepository(home.database).set_tag(
        parse_reference(text), checked, _checked(_TAG_VALUE, value, "value of a tag")
    )


def remove_tag(home: Home, text: str, name: str) -> ModelVersion:
    """Take a tag off a version, or NotFoundError."""
    return ModelRepository(home.database).remove_tag(parse_reference(text), name)


def set_notes(home: Home, text: str, notes: str) -> ModelVersion:
    """Write what people should know about a version."""
    return ModelRepository(home.database).set_notes(parse_reference(text), _checked(_NOTE, notes, "note"))


def _checked(adapter: TypeAdapter[Any], value: str, what: str) -> str:
    try:
        checked: str = adapter.validate_python(value)
    except ValidationError as error:
        problems = explain_problems(error.errors(include_url=False), max_problems=1)
        raise InvalidInputError(
            f"{value!r} cannot be the {what}: {problems}",
            next_step="Names have up to 64 letters, digits, '.', '_' and '-'; texts no NUL characters.",
        ) from error
    return checked
