"""`tunix-rt baselines …`: evaluations with a name and a rule."""

from typing import Annotated

import typer

from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import print_json, print_table, say
from tunix_rt.cli.gate_options import Alpha, MaxUnscored, Protect, rule_changes
from tunix_rt.cli.gate_view import protected_text, rule_text
from tunix_rt.core.evaluation.comparison import Baseline, GateCheck, GateRule
from tunix_rt.core.evaluation.record import Evaluation
from tunix_rt.db.baselines import BaselineRepository
from tunix_rt.db.evaluations import EvaluationRepository
from tunix_rt.db.gate_checks import GateCheckRepository
from tunix_rt.evals.gating import changed_rule
from tunix_rt.services.evaluations import find_evaluation
from tunix_rt.services.gating import set_baseline

_ID_CHARS = 8
_TIME = "%Y-%m-%d %H:%M"

Name = Annotated[str, typer.Argument(metavar="NAME", help="Of the baseline, e.g. main.")]
Reference = Annotated[
    str,
    typer.Argument(metavar="EVALUATION", help="Id, its first 6 characters, run id or evaluation directory."),
]
HistoryName = Annotated[str | None, typer.Argument(metavar="[NAME]", help="Only of this baseline.")]
HistoryLimit = Annotated[int, typer.Option(min=1, help="Rows to show.")]


def set_(
    name: Name,
    evaluation: Reference,
    protect: Protect = None,
    alpha: Alpha = None,
    max_unscored: MaxUnscored = None,
    as_json: JsonFlag = False,
) -> None:
    """Name an evaluation, with the rule for what comes after it. A name in use moves, with a new rule."""
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
        rows = [
            _row(baseline, EvaluationRepository(home.database).get(baseline.evaluation_id))
            for baseline in found
        ]
    if not rows:
        say("There are no baselines yet. Make one: tunix-rt baselines set NAME EVALUATION")
        return
    print_table(("name", "model", "eval set", "evaluation", "alpha", "unscored", "protected"), rows)


def _row(baseline: Baseline, evaluation: Evaluation) -> tuple[object, ...]:
    return (
        baseline.name,
        evaluation.model.name,
        evaluation.evalset,
        str(baseline.evaluation_id)[:_ID_CHARS],
        f"{baseline.rule.alpha:g}",
        f"{baseline.rule.max_unscored:.1%}",
        protected_text(baseline.rule),
    )


def history(name: HistoryName = None, limit: HistoryLimit = 20, as_json: JsonFlag = False) -> None:
    """The verdicts of the gate, newest first."""
    with opened_home() as home:
        page = GateCheckRepository(home.database).list(name, limit=limit, offset=0)
    if as_json:
        print_json({"data": [check.to_json() for check in page.data], "total": page.total})
    elif not page.data:
        say("No verdict yet. Give one: tunix-rt gate EVALUATION --baseline NAME")
    else:
        columns = ("checked (UTC)", "baseline", "verdict", "model", "lost", "gained", "p", "why")
        print_table(columns, [_verdict_row(check) for check in page.data])


def _verdict_row(check: GateCheck) -> tuple[object, ...]:
    overall = check.overall
    return (
        check.checked_at.strftime(_TIME),
        check.baseline_name,
        "pass" if check.passed else "FAIL",
        check.model_name,
        None if overall is None else overall.num_lost,
        None if overall is None else overall.num_gained,
        None if overall is None else f"{overall.p_value:.3g}",
        "; ".join(check.reasons),
    )


def remove(name: Name, as_json: JsonFlag = False) -> None:
    """Forget a baseline; its evaluation stays."""
    with opened_home() as home:
        BaselineRepository(home.database).delete(name)
    print_json({"removed": name}) if as_json else say(f"Removed {name}; its evaluation stays.")
