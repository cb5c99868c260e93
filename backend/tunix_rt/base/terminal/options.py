"""Typer options and command groups that several features share."""

import re
from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.assets import shipped_recipe_names, shipped_recipe_path
from tunix_rt.base.errors import InvalidInputError

_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def parse_duration(text: str) -> float:
    """Seconds of a duration.

    Example:
        "9h" -> 32400.0, "1h30m" -> 5400.0
    """
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise InvalidInputError(f"{text!r} is not a duration.", next_step="Write it as 9h, 90m or 1h30m.")
    return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts)


JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe; repeatable."),
]
SmokeSteps = Annotated[
    int | None, typer.Option(min=1, help="Stop after this many steps; nothing else changes.")
]

RecipeFile = Annotated[
    Path,
    typer.Argument(
        metavar="RECIPE", help="YAML file, or the name of a shipped recipe; docs/recipes.md lists the keys."
    ),
]


def recipe_file(named: Path) -> Path:
    """The given file, or the shipped recipe of that name if there is no such file.

    Example:
        smoke_tiny -> …/assets/recipes/smoke_tiny.yaml
    """
    if not named.exists() and str(named) in shipped_recipe_names():
        return shipped_recipe_path(str(named))
    return named
