"""Strict YAML: no duplicate keys, no surprising types, errors with line numbers.

Scalars follow YAML 1.2: `1e-5` is a number; `no`, `010` and `2025-01-01` are text. A key given twice, an
alias and a tag are errors: in a recipe they could only hide something.
"""

import re
from typing import Any

import yaml

from tunix_rt.base.errors import InvalidInputError

_TAG = "tag:yaml.org,2002:"


class _PlainLoader(yaml.SafeLoader):
    """SafeLoader for the values of JSON: text keys, each once."""

    # The names and shapes of these two are PyYAML's.
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
            raise yaml.MarkedYAMLError(problem="an alias is not read, write the value", problem_mark=mark)
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
    "float",
    r"[-+]?(?:[0-9]*\.[0-9]+|[0-9]+\.|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?",
    list("-+.0123456789"),
)


def parse_yaml(text: str, *, what: str, example: str = "docs/recipes.md shows a recipe") -> Any:
    """The JSON value that `text` spells.

    Args:
        text: one YAML document.
        what: names the text in errors, e.g. the path of its file.
        example: says in errors where a right one is shown.

    Raises:
        InvalidInputError: It is not YAML, or uses a part of YAML that is not read.
    """
    try:
        return yaml.load(text, _PlainLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}" if mark is not None else ""
        raise InvalidInputError(
            f"{what}{place}: {error.problem}.",
            next_step=f"Correct the YAML there; {example}.",
        ) from error
    except (yaml.YAMLError, RecursionError) as error:
        problem = "nested too deeply" if isinstance(error, RecursionError) else str(error).splitlines()[0]
        raise InvalidInputError(
            f"{what} is not readable YAML: {problem}.",
            next_step=f"Save it as plain UTF-8 text; {example}.",
        ) from error
