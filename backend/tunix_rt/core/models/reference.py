"""How people name a registered model: `demo`, `demo@champion`, `demo:3`."""

import re
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field

from tunix_rt.base.errors import InvalidInputError

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
WORD_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
_RESERVED = frozenset({"versions"})
"""Paths of the HTTP surface beside the names."""
_MAX_DIGITS = 9
_REFERENCE = re.compile(r"(?P<name>[^@:]+)(?:@(?P<alias>[^@:]+)|:(?P<version>[^@:]+))?")


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _usable_name(name: str) -> str:
    if name in _RESERVED or _is_uuid(name):
        raise ValueError(f"{name!r} is taken by the paths of the API; choose another name")
    return name


def _usable_label(label: str) -> str:
    if label.isdecimal():
        raise ValueError(f"{label!r} would be mistaken for a version's number; add a letter")
    return label


ModelName = Annotated[str, Field(pattern=NAME_PATTERN), AfterValidator(_usable_name)]
Alias = Annotated[str, Field(pattern=WORD_PATTERN)]
Label = Annotated[str, Field(pattern=WORD_PATTERN), AfterValidator(_usable_label)]
TagName = Annotated[str, Field(pattern=WORD_PATTERN)]


@dataclass(frozen=True)
class ModelReference:
    """A model, and which of its versions: by alias, by number, by label, or the newest."""

    name: str
    alias: str | None = None
    version: int | None = None
    label: str | None = None

    def __str__(self) -> str:
        if self.alias is not None:
            return f"{self.name}@{self.alias}"
        chosen = self.label if self.version is None else self.version
        return self.name if chosen is None else f"{self.name}:{chosen}"


def parse_reference(text: str) -> ModelReference:
    """Read what a person wrote.

    Example:
        "demo@champion" -> alias champion; "demo:3" -> version 3; "demo:spring" -> label; "demo" -> the newest

    Raises:
        InvalidInputError: It cannot name a registered model.
    """
    match = _REFERENCE.fullmatch(text)
    if match is None or not _fits(match):
        raise InvalidInputError(
            f"{text!r} cannot name a registered model.",
            next_step="Write NAME, NAME@ALIAS or NAME:VERSION; names have letters, digits, '.', '_' and '-'.",
        )
    version = match["version"]
    if version is not None and version.isdecimal():
        return ModelReference(match["name"], version=int(version))
    return ModelReference(match["name"], alias=match["alias"], label=version)


def is_reference(text: str) -> bool:
    """Whether the text says alias or version of a registered model, and so can be nothing else of ours."""
    match = _REFERENCE.fullmatch(text)
    return match is not None and _fits(match) and (match["alias"] or match["version"]) is not None


def _fits(match: re.Match[str]) -> bool:
    words = [word for word in (match["alias"], match["version"]) if word is not None]
    is_named = re.fullmatch(NAME_PATTERN, match["name"]) is not None
    return is_named and all(re.fullmatch(WORD_PATTERN, word) and not _is_too_large(word) for word in words)


def _is_too_large(word: str) -> bool:
    """No database counts that far."""
    return word.isdecimal() and len(word) > _MAX_DIGITS
