"""Rank comparable evaluations, with ties."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence

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
    shown = sorted(summaries, key=lambda one: (one.created_at, one.evaluation_id), reverse=True)
    if not shows_all:
        newest: dict[tuple[object, ...], EvaluationSummary] = {}
        for summary in shown:
            model = summary.model
            key = (summary.fingerprint, model.name, model.origin, model.weights, model.seed)
            newest.setdefault(key, summary)
        shown = list(newest.values())
    groups: defaultdict[str, list[EvaluationSummary]] = defaultdict(list)
    for summary in shown:
        groups[summary.fingerprint].append(summary)
    return Leaderboard(
        groups=tuple(_group(members) for members in groups.values()),
        num_evaluations=len(shown),
        num_superseded=len(summaries) - len(shown),
    )


def _group(members: Summaries) -> LeaderboardGroup:
    lows = sorted(summary.low for summary in members if summary.low is not None)
    ranks = {
        summary.evaluation_id: 1 + len(lows) - bisect_right(lows, summary.high)
        for summary in members
        if summary.high is not None
    }
    holders = Counter(ranks.values())
    # The members are sorted, newest first; of several with one name, the last one set stays.
    newest_bases: dict[str | None, EvaluationSummary] = {
        one.model.name: one for one in reversed(members) if not one.model.is_trained_here
    }
    entries = []
    for summary in members:
        base = newest_bases.get(summary.model.base_model)
        difference = None
        if base is not None and base.primary_score is not None and summary.primary_score is not None:
            difference = summary.primary_score - base.primary_score
        rank = ranks.get(summary.evaluation_id)
        entries.append(
            LeaderboardEntry(
                rank=rank,
                is_tied=rank is not None and holders[rank] > 1,
                is_base=not summary.model.is_trained_here,
                evaluation=summary,
                base_evaluation_id=None if base is None else base.evaluation_id,
                difference_to_base=difference,
            )
        )
    entries.sort(key=lambda one: (one.rank is None, one.rank or 0, -(one.evaluation.primary_score or 0.0)))
    return LeaderboardGroup(
        fingerprint=members[0].fingerprint,
        evalset=members[0].evalset,
        evalset_hash=members[0].evalset_hash,
        entries=tuple(entries),
    )


_PAGE_SIZE = 500


def show_leaderboard(home: Home, criteria: EvaluationFilter, *, shows_all: bool = False) -> Leaderboard:
    """Rank the matching evaluations together with the base models of the models trained here.

    A base model has no dataset or recipe and may be older, so the filters do not apply to it. It is shown
    under the protocols of the models trained from it.
    """
    chosen = {found.evaluation_id: found for found in _all(home, criteria)}
    wanted = {(found.model.base_model, found.evalset, found.fingerprint) for found in chosen.values()}
    for name, evalset in sorted({(name, evalset) for name, evalset, _ in wanted if name}):
        for found in _all(home, EvaluationFilter(model=name, evalset=evalset)):
            is_base = found.model.name == name and not found.model.is_trained_here
            if is_base and (name, evalset, found.fingerprint) in wanted:
                chosen.setdefault(found.evaluation_id, found)
    return leaderboard(list(chosen.values()), shows_all=shows_all)


def _all(home: Home, criteria: EvaluationFilter) -> list[EvaluationSummary]:
    found: list[EvaluationSummary] = []
    offset: int | None = 0
    while offset is not None:
        page = EvaluationRepository(home.database).list(criteria, limit=_PAGE_SIZE, offset=offset)
        found += page.data
        offset = page.pagination.next_offset
    return found
