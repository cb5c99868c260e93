"""`tunix-rt eval leaderboard`: models ranked by what they were evaluated on in the same way."""

from typing import Annotated

import typer
from pydantic import ValidationError

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import print_json
from tunix_rt.cli.leaderboard_view import print_leaderboard
from tunix_rt.core.evaluation.store_types import EvaluationFilter
from tunix_rt.services.leaderboards import show_leaderboard

Dataset = Annotated[str | None, typer.Option(help="Only runs that were trained on this dataset.")]
Model = Annotated[str | None, typer.Option(help="Part of the name of the model or of its base.")]
RecipeName = Annotated[str | None, typer.Option("--recipe", help="Part of the name of the recipe.")]
EvalSetName = Annotated[str | None, typer.Option("--eval-set", help="Name of the eval set.")]
DateFrom = Annotated[
    str | None, typer.Option("--from", metavar="DATE", help="Not before this day or moment, in UTC.")
]
DateTo = Annotated[
    str | None, typer.Option("--to", metavar="DATE", help="Not after this day or moment, in UTC.")
]
All = Annotated[bool, typer.Option("--all", help="Every evaluation, not only the newest of each model.")]


def leaderboard(
    dataset: Dataset = None,
    model: Model = None,
    recipe: RecipeName = None,
    evalset: EvalSetName = None,
    date_from: DateFrom = None,
    date_to: DateTo = None,
    shows_all: All = False,
    as_json: JsonFlag = False,
) -> None:
    """Rank what was evaluated in the same way; models whose intervals overlap share a rank."""
    criteria = _filter(
        dataset=dataset, model=model, recipe=recipe, evalset=evalset, date_from=date_from, date_to=date_to
    )
    with opened_home() as home:
        board = show_leaderboard(home, criteria, shows_all=shows_all)
    print_json(board.to_json()) if as_json else print_leaderboard(board)


def _filter(**values: str | None) -> EvaluationFilter:
    try:
        return EvaluationFilter.model_validate(values)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        name = str(problem["loc"][0]).removeprefix("date_").replace("evalset", "eval-set")
        raise InvalidInputError(
            f"--{name} is not acceptable: {problem['msg']}.", next_step="Write a date as 2026-01-31."
        ) from error
