"""The recipe that a command line names: a file, or one that is shipped."""

from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.files.assets import shipped_recipe_names, shipped_recipe_path

RecipeFile = Annotated[
    Path,
    typer.Argument(
        metavar="RECIPE", help="YAML file, or the name of a shipped recipe; docs/recipes.md lists the keys."
    ),
]


def recipe_file(named: Path) -> Path:
    """The file; the shipped recipe of this name where there is no such file.

    Example:
        smoke_tiny -> …/files/assets/recipes/smoke_tiny.yaml
    """
    if not named.exists() and str(named) in shipped_recipe_names():
        return shipped_recipe_path(str(named))
    return named
