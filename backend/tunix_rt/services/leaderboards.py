"""The leaderboard of the stored evaluations."""

from collections.abc import Iterable, Iterator

from tunix_rt.base.home import Home
from tunix_rt.core.evaluation.leaderboard import Leaderboard
from tunix_rt.core.evaluation.store_types import EvaluationFilter
from tunix_rt.db.evaluations import EvaluationRepository
from tunix_rt.evals.leaderboard import leaderboard
from tunix_rt.models.types import EvaluationSummary

_PAGE_SIZE = 500


def show_leaderboard(home: Home, criteria: EvaluationFilter, *, shows_all: bool = False) -> Leaderboard:
    """Rank the evaluations that fit, with the base models of those that were trained here.

    A base model has no dataset and no recipe, and may be older: it is shown all the same, under the protocols
    of the models that came from it.
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
