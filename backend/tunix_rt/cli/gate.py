"""`tunix-rt gate`: may a new model take the place of the baseline?"""

from typing import Annotated

import typer

from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import print_json, say
from tunix_rt.cli.gate_options import Alpha, MaxUnscored, Protect, rule_changes
from tunix_rt.cli.gate_view import markdown, print_verdict
from tunix_rt.services.evaluations import find_evaluation
from tunix_rt.services.gating import check_gate, find_baseline, newest_successor

Reference = Annotated[
    str | None,
    typer.Argument(
        metavar="[EVALUATION]",
        help="Id, its first 6 characters, run id or directory. Default: the newest of the same eval set.",
    ),
]
BaselineName = Annotated[
    str, typer.Option("--baseline", metavar="NAME|DIR", help="Named baseline, or an evaluation directory.")
]
Flips = Annotated[int, typer.Option(min=0, help="Lost items to show with both texts.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print a comment for a pull request.")]


def gate(
    baseline: BaselineName,
    evaluation: Reference = None,
    protect: Protect = None,
    alpha: Alpha = None,
    max_unscored: MaxUnscored = None,
    flips: Flips = 5,
    as_markdown: Markdown = False,
    as_json: JsonFlag = False,
) -> None:
    """Hold an evaluation against a baseline. Exit 1: it must not take its place; 2: nothing can be said.

    It fails on a significant loss (exact McNemar test), on a protected item that is no longer right, and on
    too many items without a verdict.
    """
    changes = rule_changes(protect, alpha, max_unscored)
    with opened_home() as home:
        chosen = find_baseline(home, baseline)
        found = (
            newest_successor(home, chosen.evaluation)
            if evaluation is None
            else find_evaluation(home, evaluation)
        )
        verdict = check_gate(home, found, chosen, changes)
    if as_json:
        print_json(verdict.to_json())
    elif as_markdown:
        say(markdown(verdict, flips))
    else:
        print_verdict(verdict, flips)
    if not verdict.passed:
        raise typer.Exit(1)
