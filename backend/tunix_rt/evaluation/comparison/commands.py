"""tunix-rt compare, gate, baselines, eval leaderboard."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated

import typer
from pydantic import ValidationError

from tunix_rt.base.errors import InvalidInputError, did_you_mean
from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import print_json, print_table, say
from tunix_rt.evaluation.comparison.compare import compare_evaluations
from tunix_rt.evaluation.comparison.gate import (
    RuleChanges,
    changed_rule,
    check_gate,
    find_baseline,
    newest_successor,
    set_baseline,
)
from tunix_rt.evaluation.comparison.leaderboard import show_leaderboard
from tunix_rt.evaluation.comparison.store import BaselineRepository, GateCheckRepository
from tunix_rt.evaluation.comparison.types import GateRule
from tunix_rt.evaluation.comparison.views import (
    markdown,
    print_comparison,
    print_flips,
    print_leaderboard,
    print_verdict,
    protected_text,
    rule_text,
)
from tunix_rt.evaluation.service import find_evaluation
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.evaluation.types import EvaluationFilter

Protect = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KIND=NAME",
        help="section=, category= or item=: correct items in it must stay correct; repeatable.",
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(help="A loss with a smaller p-value fails. Default: that of the baseline, else 0.05."),
]
MaxUnscored = Annotated[
    float | None,
    typer.Option(
        min=0, max=1, help="Maximum share of items without a verdict. Default: that of the baseline, else 0."
    ),
]


def rule_changes(
    protect: Sequence[str] | None, alpha: float | None, max_unscored: float | None
) -> RuleChanges:
    """The changes that the options make to the rule."""
    if alpha is not None and not 0 < alpha < 1:
        raise InvalidInputError(
            f"--alpha {alpha:g} is not a significance level.", next_step="Choose one between 0 and 1."
        )
    named: defaultdict[str, list[str]] = defaultdict(list)
    for pair in protect or ():
        kind, is_pair, name = pair.partition("=")
        if kind not in ("section", "category", "item") or not is_pair or not name:
            raise InvalidInputError(
                f"--protect {pair!r} is invalid.",
                next_step="Write --protect section=core, --protect category=money or --protect item=ID.",
            )
        named[kind].append(name)
    return RuleChanges(
        alpha=alpha,
        max_unscored=max_unscored,
        protected_sections=tuple(named["section"]),
        protected_categories=tuple(named["category"]),
        protected_items=tuple(named["item"]),
    )


Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the baseline, e.g. main.")]
HistoryName = Annotated[str | None, typer.Argument(metavar="[NAME]", help="Only this baseline.")]
HistoryLimit = Annotated[int, typer.Option(min=1, help="Rows to show.")]


def set_(
    name: Name,
    evaluation: Annotated[
        str,
        typer.Argument(
            metavar="EVALUATION", help="Id, its first 6 characters, run id or evaluation directory."
        ),
    ],
    protect: Protect = None,
    alpha: Alpha = None,
    max_unscored: MaxUnscored = None,
    as_json: JsonFlag = False,
) -> None:
    """Name an evaluation as a baseline, with the rule for later ones. An existing name is replaced."""
    rule = changed_rule(GateRule(), rule_changes(protect, alpha, max_unscored))
    with opened_home() as home:
        found = find_evaluation(home, evaluation)
        baseline = set_baseline(home, name, found, rule)
    if as_json:
        print_json(baseline.to_json())
        return
    say(f"{baseline.name} is {found.model.name} on {found.evalset} ({found.evaluation_id}).")
    say(rule_text(rule))
    say(f"next: tunix-rt gate EVALUATION --baseline {baseline.name}")


def list_(as_json: JsonFlag = False) -> None:
    """List the baselines."""
    with opened_home() as home:
        found = BaselineRepository(home.database).list()
        if as_json:
            print_json({"data": [baseline.to_json() for baseline in found]})
            return
        repository = EvaluationRepository(home.database)
        evaluated = [(baseline, repository.get(baseline.evaluation_id)) for baseline in found]
    rows = [
        (
            baseline.name,
            evaluation.model.name,
            evaluation.evalset,
            str(baseline.evaluation_id)[:8],
            f"{baseline.rule.alpha:g}",
            f"{baseline.rule.max_unscored:.1%}",
            protected_text(baseline.rule),
        )
        for baseline, evaluation in evaluated
    ]
    if not rows:
        say("There are no baselines yet. Create one: tunix-rt baselines set NAME EVALUATION")
        return
    print_table(("name", "model", "eval set", "evaluation", "alpha", "unscored", "protected"), rows)


def history(name: HistoryName = None, limit: HistoryLimit = 20, as_json: JsonFlag = False) -> None:
    """List the verdicts of the gate, newest first."""
    with opened_home() as home:
        page = GateCheckRepository(home.database).list(name, limit=limit, offset=0)
    if as_json:
        print_json({"data": [check.to_json() for check in page.data], "total": page.pagination.total})
    elif not page.data:
        say("No verdict yet. Run the gate: tunix-rt gate EVALUATION --baseline NAME")
    else:
        columns = ("checked (UTC)", "baseline", "verdict", "model", "lost", "gained", "p", "why")
        rows = []
        for check in page.data:
            changes: tuple[object, ...] = (None, None, None)
            if (overall := check.overall) is not None:
                changes = (overall.num_lost, overall.num_gained, f"{overall.p_value:.3g}")
            time, verdict = f"{check.checked_at:%Y-%m-%d %H:%M}", "pass" if check.passed else "FAIL"
            why = "; ".join(check.reasons)
            rows.append((time, check.baseline_name, verdict, check.model_name, *changes, why))
        print_table(columns, rows)


def remove(name: Name, as_json: JsonFlag = False) -> None:
    """Delete a baseline; its evaluation is kept."""
    with opened_home() as home:
        BaselineRepository(home.database).delete(name)
    print_json({"removed": name}) if as_json else say(f"Removed {name}; its evaluation is kept.")


NUM_FLIPS_SHOWN = 5


def compare(
    base: Annotated[
        str,
        typer.Argument(
            metavar="A", help="The base: id, its first 6 characters, run id or evaluation directory."
        ),
    ],
    other: Annotated[
        str, typer.Argument(metavar="B", help="The evaluation to compare with A; same forms as A.")
    ],
    allow_different_protocols: Annotated[
        bool,
        typer.Option(
            "--allow-different-protocols", help="Compare the shared questions even if the protocols differ."
        ),
    ] = False,
    section: Annotated[str | None, typer.Option(help="Only this section and its changed items.")] = None,
    flips: Annotated[
        int | None,
        typer.Option(min=0, help=f"Changed items to show. Default: {NUM_FLIPS_SHOWN}; all with --json."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what B lost and gained against A, with both completions and a significance test."""
    with opened_home() as home:
        evaluations = find_evaluation(home, base), find_evaluation(home, other)
        found = compare_evaluations(home, *evaluations, allow_different_protocols=allow_different_protocols)
    if section is not None:
        if section not in found.by_section:
            raise InvalidInputError(
                f"No item of the section {section!r} is scored in both.",
                next_step=did_you_mean(section, found.by_section),
            )
        flips_of_section = tuple(flip for flip in found.flips if flip.section == section)
        by_section = {section: found.by_section[section]}
        found = found.model_copy(update={"by_section": by_section, "flips": flips_of_section})
    if as_json:
        print_json(found.model_copy(update={"flips": found.flips[:flips]}).to_json())
    else:
        print_comparison(found)
        print_flips(found.flips, NUM_FLIPS_SHOWN if flips is None else flips)


def gate(
    baseline: Annotated[
        str,
        typer.Option("--baseline", metavar="NAME|DIR", help="Named baseline, or an evaluation directory."),
    ],
    evaluation: Annotated[
        str | None,
        typer.Argument(
            metavar="[EVALUATION]",
            help="Id, its first 6 characters, run id or directory. Default: the newest of the same eval set.",
        ),
    ] = None,
    protect: Protect = None,
    alpha: Alpha = None,
    max_unscored: MaxUnscored = None,
    flips: Annotated[int, typer.Option(min=0, help="Lost items to show, with both completions.")] = 5,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown for a pull request comment.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Check an evaluation against a baseline. Exit 1: it fails; 2: the two cannot be compared.

    It fails on a significant loss (exact McNemar test), on a protected item that is no longer correct, and on
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


def leaderboard(
    dataset: Annotated[str | None, typer.Option(help="Only runs that were trained on this dataset.")] = None,
    model: Annotated[str | None, typer.Option(help="Part of the name of the model or of its base.")] = None,
    recipe: Annotated[str | None, typer.Option("--recipe", help="Part of the name of the recipe.")] = None,
    evalset: Annotated[str | None, typer.Option("--eval-set", help="Name of the eval set.")] = None,
    date_from: Annotated[
        str | None, typer.Option("--from", metavar="DATE", help="Not before this date or time, in UTC.")
    ] = None,
    date_to: Annotated[
        str | None, typer.Option("--to", metavar="DATE", help="Not after this date or time, in UTC.")
    ] = None,
    shows_all: Annotated[
        bool, typer.Option("--all", help="Every evaluation, not only the newest of each model.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Rank models with the same protocol; models whose intervals overlap share a rank."""
    values = {"dataset": dataset, "model": model, "recipe": recipe, "evalset": evalset}
    try:
        criteria = EvaluationFilter.model_validate(values | {"date_from": date_from, "date_to": date_to})
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        name = str(problem["loc"][0]).removeprefix("date_").replace("evalset", "eval-set")
        raise InvalidInputError(
            f"--{name} is invalid: {problem['msg']}.", next_step="Write the date as 2026-01-31."
        ) from error
    with opened_home() as home:
        board = show_leaderboard(home, criteria, shows_all=shows_all)
    print_json(board.to_json()) if as_json else print_leaderboard(board)
