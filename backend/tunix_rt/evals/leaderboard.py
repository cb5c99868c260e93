"""From evaluations to a ranking that admits ties."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence

from tunix_rt.core.evaluation.leaderboard import Leaderboard, LeaderboardEntry, LeaderboardGroup
from tunix_rt.models.types import EvaluationSummary

Summaries = Sequence[EvaluationSummary]


def leaderboard(summaries: Summaries, *, shows_all: bool = False) -> Leaderboard:
    """Rank what may be compared, group by group.

    An entry's rank is 1 + the number of entries whose whole interval lies above its own, so entries whose
    intervals overlap with those of the best of their rank share it.

    Args:
        summaries: In any order.
        shows_all: Every evaluation, not only the newest of each model under each protocol.

    Example:
        90 % (85–94), 88 % (83–92), 60 % (53–67) -> ranks 1, 1, 3
    """
    newest_first = sorted(summaries, key=lambda one: (one.created_at, one.evaluation_id), reverse=True)
    shown = newest_first if shows_all else _newest_of_each_model(newest_first)
    groups: defaultdict[str, list[EvaluationSummary]] = defaultdict(list)
    for summary in shown:
        groups[summary.fingerprint].append(summary)
    return Leaderboard(
        groups=tuple(_group(members) for members in groups.values()),
        num_evaluations=len(shown),
        num_superseded=len(summaries) - len(shown),
    )


def _newest_of_each_model(newest_first: Summaries) -> list[EvaluationSummary]:
    kept: dict[tuple[object, ...], EvaluationSummary] = {}
    for summary in newest_first:
        model = summary.model
        key = (summary.fingerprint, model.name, model.origin, model.weights, model.seed)
        kept.setdefault(key, summary)
    return list(kept.values())


def _group(members: Summaries) -> LeaderboardGroup:
    lows = sorted(summary.low for summary in members if summary.low is not None)
    ranks = {summary.evaluation_id: _rank(summary, lows) for summary in members}
    holders = Counter(ranks.values())
    entries = [
        _entry(summary, ranks[summary.evaluation_id], holders, _base_of(summary, members))
        for summary in members
    ]
    return LeaderboardGroup(
        fingerprint=members[0].fingerprint,
        evalset=members[0].evalset,
        evalset_hash=members[0].evalset_hash,
        entries=tuple(sorted(entries, key=_place)),
    )


def _rank(summary: EvaluationSummary, lows: Sequence[float]) -> int | None:
    return None if summary.high is None else 1 + len(lows) - bisect_right(lows, summary.high)


def _entry(
    summary: EvaluationSummary,
    rank: int | None,
    holders: Counter[int | None],
    base: EvaluationSummary | None,
) -> LeaderboardEntry:
    return LeaderboardEntry(
        rank=rank,
        is_tied=rank is not None and holders[rank] > 1,
        is_base=not summary.model.is_trained_here,
        evaluation=summary,
        base_evaluation_id=None if base is None else base.evaluation_id,
        difference_to_base=None if base is None else _difference(summary, base),
    )


def _base_of(summary: EvaluationSummary, members: Summaries) -> EvaluationSummary | None:
    """The newest evaluation of what the run started from."""
    started_from = summary.model.base_model
    named = (
        other for other in members if other.model.name == started_from and not other.model.is_trained_here
    )
    return next(named, None)


def _difference(summary: EvaluationSummary, base: EvaluationSummary) -> float | None:
    if summary.primary_score is None or base.primary_score is None:
        return None
    return summary.primary_score - base.primary_score


def _place(entry: LeaderboardEntry) -> tuple[bool, int, float]:
    return entry.rank is None, entry.rank or 0, -(entry.evaluation.primary_score or 0.0)
