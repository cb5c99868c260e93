"""Rank comparable evaluations, with ties."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from tunix_rt.base.home import Home
from tunix_rt.evaluation.comparison.types import Leaderboard, LeaderboardEntry, LeaderboardGroup
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.evaluation.types import EvaluationFilter
from tunix_rt.models.types import EvaluationSummary

Summaries = Sequence[EvaluationSummary]


def leaderboard(summaries: Summaries, *, shows_all: bool = False) -> Leaderboard:
    """Rank comparable evaluations, group by group.

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
    newest: dict[tuple[object, ...], EvaluationSummary] = {}
    for summary in newest_first:
        model = summary.model
        key = (summary.fingerprint, model.name, model.origin, model.weights, model.seed)
        newest.setdefault(key, summary)
    return list(newest.values())


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
        entries=tuple(sorted(entries, key=_sort_key)),
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
    """The newest evaluation of the model that the run started from."""
    name = summary.model.base_model
    bases = (one for one in members if one.model.name == name and not one.model.is_trained_here)
    return next(bases, None)


def _difference(summary: EvaluationSummary, base: EvaluationSummary) -> float | None:
    if summary.primary_score is None or base.primary_score is None:
        return None
    return summary.primary_score - base.primary_score


def _sort_key(entry: LeaderboardEntry) -> tuple[bool, int, float]:
    return entry.rank is None, entry.rank or 0, -(entry.evaluation.primary_score or 0.0)


_PAGE_SIZE = 500


def show_leaderboard(home: Home, criteria: EvaluationFilter, *, shows_all: bool = False) -> Leaderboard:
    """Rank the matching evaluations together with the base models of the models trained here.

    A base model has no dataset or recipe and may be older, so the filters do not apply to it. It is shown
    under the protocols of the models trained from it.
    """
    chosen = {found.evaluation_id: found for found in _all(home, criteria)}
    for base in _bases(home, list(chosen.values())):
        chosen.setdefault(base.evaluation_id, base)
    return leaderboard(list(chosen.values()), shows_all=shows_all)


def _bases(home: Home, summaries: Iterable[EvaluationSummary]) -> Iterator[EvaluationSummary]:
    wanted = {(found.model.base_model, found.evalset, found.fingerprint) for found in summaries}
    for name, evalset in sorted({(name, evalset) for name, evalset, _ in wanted if name}):
        for found in _all(home, EvaluationFilter(model=name, evalset=evalset)):
            is_base = found.model.name == name and not found.model.is_trained_here
            if is_base and (name, evalset, found.fingerprint) in wanted:
                yield found


def _all(home: Home, criteria: EvaluationFilter) -> list[EvaluationSummary]:
    found: list[EvaluationSummary] = []
    while True:
        page = EvaluationRepository(home.database).list(criteria, limit=_PAGE_SIZE, offset=len(found))
        found += page.data
        if not page.data or len(found) >= page.total:
            return found
