"""`tunix-rt compare`: two evaluations item by item."""

from typing import Annotated

import typer

from tunix_rt.base.errors import InvalidInputError, did_you_mean
from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import print_json
from tunix_rt.cli.comparison_view import print_comparison, print_flips
from tunix_rt.core.evaluation.comparison import Comparison
from tunix_rt.services.comparing import compare_evaluations
from tunix_rt.services.evaluations import find_evaluation

NUM_FLIPS_SHOWN = 5

Base = Annotated[
    str,
    typer.Argument(metavar="A", help="The base: id, its first 6 characters, run id or evaluation directory."),
]
Other = Annotated[str, typer.Argument(metavar="B", help="What is compared with it; named the same way.")]
AllowDifferent = Annotated[
    bool,
    typer.Option(
        "--allow-different-protocols", help="Compare all the same, on the questions that both have."
    ),
]
Section = Annotated[str | None, typer.Option(help="Only this section, and what changed in it.")]
Flips = Annotated[
    int | None, typer.Option(min=0, help=f"Changed items to show. Default: {NUM_FLIPS_SHOWN}; in JSON all.")
]


def compare(
    base: Base,
    other: Other,
    allow_different_protocols: AllowDifferent = False,
    section: Section = None,
    flips: Flips = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what B lost and gained against A, with both texts, and whether chance explains it."""
    with opened_home() as home:
        evaluations = find_evaluation(home, base), find_evaluation(home, other)
        found = compare_evaluations(home, *evaluations, allow_different_protocols=allow_different_protocols)
    if section is not None:
        found = _only_section(found, section)
    if as_json:
        print_json(found.model_copy(update={"flips": found.flips[:flips]}).to_json())
    else:
        print_comparison(found)
        print_flips(found.flips, NUM_FLIPS_SHOWN if flips is None else flips)


def _only_section(found: Comparison, section: str) -> Comparison:
    if section not in found.by_section:
        raise InvalidInputError(
            f"No item of the section {section!r} is scored in both.",
            next_step=did_you_mean(section, found.by_section),
        )
    return found.model_copy(
        update={
            "by_section": {section: found.by_section[section]},
            "flips": tuple(flip for flip in found.flips if flip.section == section),
        }
    )
