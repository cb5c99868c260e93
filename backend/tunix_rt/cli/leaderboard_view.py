"""The leaderboard as text for people."""

from tunix_rt.base.terminal.output import counted, print_table, say
from tunix_rt.cli.comparison_view import points
from tunix_rt.core.evaluation.leaderboard import Leaderboard, LeaderboardEntry, LeaderboardGroup
from tunix_rt.models.types import EvaluatedModel, EvaluationSummary

_ID_CHARS = 8
_COLUMNS = ("rank", "model", "accuracy", "95 %", "n", "to base", "format", "dataset", "id")


def print_leaderboard(board: Leaderboard) -> None:
    """One table a protocol, and what the marks mean."""
    if not board.groups:
        say("No evaluation fits. Make one: tunix-rt eval MODEL --eval-set eval_v2")
        return
    for group in board.groups:
        _print_group(group)
    entries = [entry for group in board.groups for entry in group.entries]
    if any(entry.is_tied for entry in entries):
        say("=  a shared rank: 1 + the number of models whose whole interval lies above")
    if any(entry.is_base for entry in entries):
        say("*  a base model; to base: points above the model that a run started from")
    if len(board.groups) > 1:
        say(f"{len(board.groups)} protocols: their scores are not comparable, so each has its own ranks")
    if num_unscored := sum(entry.evaluation.num_unscored for entry in entries):
        say(f"{num_unscored:,} predictions have no verdict and are in no score; tunix-rt eval show says why")
    if board.num_superseded:
        older = counted(board.num_superseded, "older evaluation")
        say(f"left out: {older} of the same models; --all shows all")


def _print_group(group: LeaderboardGroup) -> None:
    print_table(
        _COLUMNS,
        [_row(entry) for entry in group.entries],
        title=f"{group.evalset}, protocol {group.fingerprint[:_ID_CHARS]}",
    )


def _row(entry: LeaderboardEntry) -> tuple[object, ...]:
    found = entry.evaluation
    return (
        None if entry.rank is None else f"{entry.rank}{'=' if entry.is_tied else ''}",
        f"{_name(found.model)}{' *' if entry.is_base else ''}",
        None if found.primary_score is None else f"{found.primary_score:.1%}",
        None if found.low is None or found.high is None else f"{found.low * 100:.1f}–{found.high * 100:.1f}",
        _count(found),
        None if entry.difference_to_base is None else points(entry.difference_to_base),
        None if found.format_adherence is None else f"{found.format_adherence:.1%}",
        found.model.dataset,
        str(found.evaluation_id)[:_ID_CHARS],
    )


def _name(model: EvaluatedModel) -> str:
    """The name, with the seed where the weights are random ones."""
    return model.name if model.weights == "pretrained" else f"{model.name} (seed {model.seed})"


def _count(found: EvaluationSummary) -> str:
    """The scored items; with several samples the items and how many samples each: `100 × 4`."""
    num_samples = (found.num_scored + found.num_unscored) // max(found.num_items, 1)
    return f"{found.num_scored:,}" if num_samples <= 1 else f"{found.num_items:,} × {num_samples}"
