"""Strict YAML: no duplicate keys, no surprising types, errors with line numbers.

Scalars follow YAML 1.2: `1e-5` is a number; `no`, `010` and `2025-01-01` are text. Duplicate keys,
aliases and tags are errors, because in a recipe they could only hide something.
"""

import re
from typing import Any

import yaml

from tunix_rt.base.errors import InvalidInputError

_TAG = "tag:yaml.org,2002:"


class _PlainLoader(yaml.SafeLoader):
    """SafeLoader restricted to JSON values with unique text keys."""

    # PyYAML defines the names and types of these two.
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012
    yaml_constructors = {  # noqa: RUF012
        tag: construct
        for tag, construct in yaml.SafeLoader.yaml_constructors.items()
        if tag is None or tag.removeprefix(_TAG) in ("null", "bool", "int", "float", "str", "seq", "map")
    }

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Compose any node but an alias."""
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="write the value instead of an alias", problem_mark=mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A dictionary whose keys are text, each given once."""
        seen: set[str] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str) or key in seen:
                problem = f"the key {key!r} is given twice" if key in seen else f"{key!r} is not a key"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def _read_as(name: str, pattern: str, first_letters: list[str]) -> None:
    _PlainLoader.add_implicit_resolver(f"{_TAG}{name}", re.compile(f"(?:{pattern})$"), first_letters)


_read_as("null", "~|null|", ["~", "n", ""])
_read_as("bool", "true|false", ["t", "f"])
_read_as("int", "[-+]?(?:0|[1-9][0-9_]*)", list("-+0123456789"))
_read_as(
    "float", r"[-+]?(?:[0-9]*\.[0-9]+|[0-9]+\.|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?", list("-+.0123456789")
)


def parse_yaml(text: str, *, what: str, example: str = "docs/recipes.md shows a recipe") -> Any:
    """Parse YAML into JSON values.

    Args:
        text: One YAML document.
        what: The name of the text in errors, e.g. its path.
        example: Where errors point to for a valid example.

    Raises:
        InvalidInputError: It is not YAML, or uses an unsupported part of YAML.
    """
    try:
        return yaml.load(text, _PlainLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        location = f", line {mark.line + 1}" if mark is not None else ""
        raise InvalidInputError(
            f"{what}{location}: {error.problem}.", next_step=f"Correct the YAML there; {example}."
        ) from error
    except (yaml.YAMLError, RecursionError) as error:
        problem = "nested too deeply" if isinstance(error, RecursionError) else str(error).splitlines()[0]
        raise InvalidInputError(
            f"{what} is not readable YAML: {problem}.", next_step=f"Save it as plain UTF-8 text; {example}."
        ) from error
