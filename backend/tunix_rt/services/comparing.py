"""Compare two stored evaluations item by item."""

from tunix_rt.core.evaluation.comparison import Comparison
from tunix_rt.core.evaluation.record import Evaluation
from tunix_rt.evals.comparing import Scored, compare
from tunix_rt.services.evaluations import load_predictions
from tunix_rt.services.store import Store


def compare_evaluations(
    store: Store, base: Evaluation, other: Evaluation, *, allow_different_protocols: bool = False
) -> Comparison:
    """How `other` differs from `base`.

    Raises:
        ConflictError: Their protocols differ, or they share no item.
    """
    return compare(
        load_scored(store, base),
        load_scored(store, other),
        allow_different_protocols=allow_different_protocols,
    )


def load_scored(store: Store, evaluation: Evaluation) -> Scored:
    """A stored evaluation with its predictions."""
    return Scored(evaluation, load_predictions(store, evaluation))
