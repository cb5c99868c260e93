"""Commands that are imported when they are typed: nobody waits for what the others need."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer
from typer.main import get_command_from_info, get_group
from typer.models import CommandInfo

_PACKAGE = "tunix_rt.cli"


class LazyCommands(dict[str, Any]):
    """Commands by name, each a place such as `plan:plan` until somebody looks at it.

    Example:
        LazyCommands({"plan": "plan:plan"})["plan"] -> the command of `plan` in tunix_rt.cli.plan
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        super().__init__(places)

    def __getitem__(self, name: str) -> Any:
        known = super().__getitem__(name)
        if isinstance(known, str):
            known = _command(name, known)
            super().__setitem__(name, known)
        return known

    def get(self, name: str, default: Any = None) -> Any:
        """The command of this name, imported."""
        return self[name] if name in self else default

    def values(self) -> Iterator[Any]:  # type: ignore[override]
        """All of them, imported."""
        return (self[name] for name in self)

    def items(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]
        """All of them with their names, imported."""
        return ((name, self[name]) for name in self)


def _command(name: str, place: str) -> Any:
    module, attribute = place.split(":")
    target = getattr(import_module(f"{_PACKAGE}.{module}"), attribute)
    if isinstance(target, typer.Typer):
        command: Any = get_group(target)
        command.name = name
        return command
    plain = typer.Typer()
    return get_command_from_info(
        CommandInfo(name=name, callback=target),
        pretty_exceptions_short=plain.pretty_exceptions_short,
        rich_markup_mode=plain.rich_markup_mode,
    )
