"""Compare two stored evaluations item by item."""

from tunix_rt.base.home import Home
from tunix_rt.core.evaluation.comparison import Comparison
from tunix_rt.core.evaluation.record import Evaluation
from tunix_rt.evals.comparing import Scored, compare
from tunix_rt.services.evaluations import load_predictions


def compare_evaluations(
    home: Home, base: Evaluation, other: Evaluation, *, allow_different_protocols: bool = False
) -> Comparison:
    """How `other` differs from `base`.

    Raises:
        ConflictError: Their protocols differ, or they share no item.
    """
    return compare(
        load_scored(home, base),
        load_scored(home, other),
        allow_different_protocols=allow_different_protocols,
    )


def load_scored(home: Home, evaluation: Evaluation) -> Scored:
    """A stored evaluation with its predictions."""
    return Scored(evaluation, load_predictions(home, evaluation))
