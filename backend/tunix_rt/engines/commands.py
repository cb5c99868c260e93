"""tunix-rt plan; the --engine option."""

from typing import Annotated

import typer

from tunix_rt.base.settings import load_settings
from tunix_rt.base.terminal.options import JsonFlag, RecipeFile, parse_duration, recipe_file
from tunix_rt.base.terminal.output import err, out, print_json
from tunix_rt.engines.planning.service import PlanOptions, PlanProgress, plan_recipe
from tunix_rt.engines.planning.targets import TARGET_NAMES, find_target
from tunix_rt.engines.planning.views import compiling_line, print_estimate, print_plan
from tunix_rt.engines.select import RequestedEngine
from tunix_rt.engines.types import EngineName
from tunix_rt.engines.weights.sources import with_absolute_paths
from tunix_rt.recipes.load import Flag, load_recipe

EngineOption = Annotated[
    RequestedEngine,
    typer.Option("--engine", help="auto selects the best one for this machine and says why."),
]

On = Annotated[str, typer.Option("--on", metavar="TARGET", help=f"One of: {', '.join(TARGET_NAMES)}.")]
Dataset = Annotated[str | None, typer.Option(help="Dataset to count the steps with. Default: the recipe's.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a recipe key; repeatable."),
]
Session = Annotated[str | None, typer.Option(help="Time budget of the run, e.g. 9h or 90m.")]
Fast = Annotated[bool, typer.Option("--fast", help="Estimate only; do not compile.")]
Engine = Annotated[EngineName, typer.Option(help="The engine that will run the recipe.")]
Verify = Annotated[bool, typer.Option("--verify", help="Compile the suggested fixes too.")]


def plan(
    recipe: RecipeFile,
    on: On,
    dataset: Dataset = None,
    engine: Engine = "jax",
    sets: Set = None,
    session: Session = None,
    fast: Fast = False,
    verify: Verify = False,
    as_json: JsonFlag = False,
) -> None:
    """Check whether a recipe fits a target, before anything is downloaded. Exit 1 when it does not."""
    flags = {} if dataset is None else {"data.dataset": Flag(dataset, "--dataset")}
    resolved = with_absolute_paths(load_recipe(recipe_file(recipe), sets=sets or [], flags=flags))
    options = PlanOptions(
        engine=engine,
        is_fast=fast,
        verifies_fixes=verify,
        session_seconds=None if session is None else parse_duration(session),
    )
    with compiling_line(err) as on_compiling:
        progress = PlanProgress(lambda estimate: print_estimate(estimate, err), on_compiling)
        result = plan_recipe(load_settings(), resolved.recipe, find_target(on), options, progress)
    print_json(result) if as_json else print_plan(result, out)
    if not result.fits or result.fits_session is False:
        raise typer.Exit(1)
