"""Generate the reference pages of docs/ from the code."""

import ast
import inspect
import json
from itertools import groupby, pairwise
from typing import Any

import typer
from typer.main import get_command

from tunix_rt.base.http.errors import ANY_REQUEST, STATUS_OF
from tunix_rt.base.settings import Settings
from tunix_rt.recipes.keys import RecipeKey, recipe_keys

HTTP_METHODS = ("get", "post", "put", "patch", "delete")


def cli_reference(app: typer.Typer) -> str:
    """List every command with its arguments and options."""
    root: Any = get_command(app)
    lines = ["# Command line", "", "Generated from the commands. Run `make docs` to update this page.", ""]
    for path, command in _leaf_commands(root, "tunix-rt"):
        lines += [f"## `{path}`", "", command.help or "", ""]
        lines += _parameter_table(command)
    return "\n".join(lines).rstrip() + "\n"


def _leaf_commands(command: Any, path: str) -> list[tuple[str, Any]]:
    children = getattr(command, "commands", None)
    if not children:
        return [(path, command)]
    # The command that runs by default is documented under the name of its group.
    default = getattr(command, "default_command", None)
    return [
        leaf
        for name, child in children.items()
        for leaf in _leaf_commands(child, path if name == default else f"{path} {name}")
    ]


def _parameter_table(command: Any) -> list[str]:
    rows = ["| argument or option | meaning | default |", "|---|---|---|"]
    for parameter in (one for one in command.params if not getattr(one, "hidden", False)):
        is_argument = parameter.param_type_name == "argument"
        name = (parameter.metavar or parameter.name.upper()) if is_argument else ", ".join(parameter.opts)
        default = (
            ""
            if parameter.default in (None, False, (), []) or callable(parameter.default)
            else parameter.default
        )
        help_text = (getattr(parameter, "help", "") or "").replace("|", "\\|")
        rows.append(f"| `{name}` | {help_text} | {default} |")
    return [*rows, ""]


def http_reference(document: dict[str, Any]) -> str:
    """List every route by resource, with its description and the status codes specific to it."""
    lines = []
    for resource, paths in groupby(sorted(document["paths"]), _resource):
        lines += [f"## {resource}", "", "| route | what it does | answers |", "|---|---|---|"]
        lines += [row for path in paths for row in _routes(path, document["paths"][path])]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _resource(path: str) -> str:
    """Return the resource that a path belongs to.

    Example:
        /api/traces/{trace_id} -> traces
    """
    return path.removeprefix("/api").strip("/").split("/")[0]


def _routes(path: str, operations: dict[str, Any]) -> list[str]:
    rows = []
    for method in HTTP_METHODS:
        if method in operations:
            operation = operations[method]
            others = sorted(set(operation["responses"]) - set(map(str, ANY_REQUEST)))
            does = " ".join(operation.get("description", "").split())
            rows.append(f"| `{method.upper()} {path}` | {does} | {', '.join(others)} |")
    return rows


def settings_reference() -> str:
    """List every environment variable with its meaning and default."""
    lines = ["| variable | meaning | default |", "|---|---|---|"]
    meanings = attribute_docstrings(Settings)
    for name, info in Settings.model_fields.items():
        default = "" if info.default is None else info.default
        lines.append(f"| `TUNIX_RT_{name.upper()}` | {meanings[name]} | `{default}` |")
    return "\n".join(lines) + "\n"


def attribute_docstrings(kind: type) -> dict[str, str]:
    """Return the docstrings of the attributes of a class, which pydantic would parse at every start."""
    body = ast.parse(inspect.getsource(kind)).body[0].body
    return {
        before.target.id: inspect.cleandoc(after.value.value)
        for before, after in pairwise(body)
        if isinstance(before, ast.AnnAssign) and isinstance(after, ast.Expr)
    }


def errors_reference() -> str:
    """List every error with its exit code, HTTP status and meaning, most general last."""
    lines = ["| code | exit | HTTP | meaning |", "|---|---|---|---|"]
    for kind, status in STATUS_OF.items():
        means = (kind.__doc__ or "").splitlines()[0]
        lines.append(f"| [`{kind.code}`](#{kind.code}) | {kind.exit_code} | {status} | {means} |")
    return "\n".join(lines) + "\n"


def recipe_reference() -> str:
    """List every recipe key, one table per section."""
    lines: list[str] = []
    for section in (key for key in recipe_keys() if key.is_section and "." not in key.path):
        lines += [f"## `{section.path}`", "", section.meaning, ""]
        lines += ["| key | allowed values | default | meaning |", "|---|---|---|---|"]
        keys = [key for key in recipe_keys() if key.path.startswith(f"{section.path}.")]
        lines += [_recipe_row(key, section.path) for key in keys if not key.is_section]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _recipe_row(key: RecipeKey, section: str) -> str:
    name = key.path.removeprefix(f"{section}.")
    default = "**required**" if key.is_required else f"`{json.dumps(key.default, ensure_ascii=False)}`"
    meaning = " ".join(key.meaning.split()).replace("None:", "null:")
    only = f"Only {key.only_with}. " if key.only_with else ""
    return f"| `{name}` | {key.allowed} | {default} | {only}{meaning} |"
