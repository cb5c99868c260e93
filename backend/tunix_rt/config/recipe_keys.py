"""Every key of the recipe as data, read from the schema: for the docs, for errors and for tests."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tunix_rt.config.recipe import Recipe

_LIMITS = {
    "exclusiveMinimum": "above {}",
    "minimum": "at least {}",
    "exclusiveMaximum": "below {}",
    "maximum": "at most {}",
}
_TYPE_NAMES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "null": "null",
}


@dataclass(frozen=True)
class RecipeKey:
    """One key: where it stands, what it may be, what it is when nobody says."""

    path: str
    """Dotted, e.g. `training.learning_rate`."""
    allowed: str
    """In words, e.g. `a number above 0`."""
    is_required: bool
    default: Any
    meaning: str
    only_with: str | None = None
    """Name of the optimizer that has the key; None: it does not depend on one."""
    is_section: bool = False

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]


@cache
def recipe_keys() -> tuple[RecipeKey, ...]:
    """All sections and keys, in the order of the schema, a section before its keys."""
    schema = Recipe.model_json_schema()
    return tuple(_keys_of(schema, schema["$defs"], prefix="", only_with=None))


def leaf_keys() -> tuple[RecipeKey, ...]:
    """The keys that hold a value."""
    return tuple(key for key in recipe_keys() if not key.is_section)


def _keys_of(
    model: Mapping[str, Any], definitions: Mapping[str, Any], *, prefix: str, only_with: str | None
) -> Iterator[RecipeKey]:
    for name, field in model["properties"].items():
        if "const" in field:
            continue  # The name of a variant: one key for all of them, yielded with their section.
        path = f"{prefix}{name}"
        models = [definitions[reference] for reference in _references(field)]
        yield RecipeKey(
            path=path,
            allowed="a section of keys" if models else _in_words(field),
            is_required=name in model.get("required", ()),
            default=field.get("default"),
            meaning=field.get("description") or models[0]["description"],
            only_with=only_with,
            is_section=bool(models),
        )
        variants = [nested["properties"].get("name", {}).get("const") for nested in models]
        if any(variants):
            yield _variant_key(path, field, variants)
        for nested, variant in zip(models, variants, strict=True):
            yield from _keys_of(nested, definitions, prefix=f"{path}.", only_with=variant)


def _variant_key(path: str, field: Mapping[str, Any], variants: list[str]) -> RecipeKey:
    return RecipeKey(
        path=f"{path}.name",
        allowed=_in_words({"enum": variants}),
        is_required=False,
        default=field["default"]["name"],
        meaning="Which one.",
    )


def _references(field: Mapping[str, Any]) -> list[str]:
    """Names of the models that a field may hold: none for a plain value, two for the optimizer."""
    options = [field, *field.get("anyOf", ()), *field.get("oneOf", ())]
    return [option["$ref"].rpartition("/")[2] for option in options if "$ref" in option]


def _in_words(field: Mapping[str, Any]) -> str:
    if "anyOf" in field:
        return " or ".join(_in_words(option) for option in field["anyOf"])
    if "const" in field:
        return str(field["const"])
    if "enum" in field:
        return "one of " + ", ".join(map(str, field["enum"]))
    if field["type"] == "array":
        return f"a list, each {_in_words(field['items'])}"
    if "pattern" in field:
        return f"text that matches {field['pattern']}"
    limits = [words.format(f"{field[limit]:,}") for limit, words in _LIMITS.items() if limit in field]
    return " ".join([_TYPE_NAMES[field["type"]], " and ".join(limits)]).strip()
