"""The predictions of an eval set, item by item."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from tunix_rt.core.evaluation.prediction import Prediction
from tunix_rt.evals.sampling_statistics import Votes, majority_at_k


@dataclass(frozen=True)
class ItemSamples:
    """All predictions of one item."""

    predictions: tuple[Prediction, ...]

    @cached_property
    def scored(self) -> tuple[Prediction, ...]:
        """Those with a verdict."""
        return tuple(found for found in self.predictions if found.judgement.is_scored)

    @property
    def has_unscored(self) -> bool:
        """Whether one of them has no verdict."""
        return len(self.scored) < len(self.predictions)

    @cached_property
    def num_right(self) -> int:
        """Right ones."""
        return sum(found.judgement.is_correct for found in self.scored)

    @property
    def share_right(self) -> float | None:
        """Right ones among the scored; None where none could be scored."""
        return self.num_right / len(self.scored) if self.scored else None

    @cached_property
    def votes(self) -> Votes:
        """Its different answers. One without a canonical form, or found by a lenient rule, has no vote."""
        counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        for judgement in (found.judgement for found in self.scored):
            if judgement.canonical is not None and not judgement.is_lenient:
                entry = counts[judgement.canonical]
                entry[0] += 1
                entry[1] += judgement.is_correct
        return tuple(sorted((count, num_right) for count, num_right in counts.values()))

    def majority_at(self, k: int) -> float:
        """The chance that the most frequent answer of k samples is right."""
        num_silent = len(self.scored) - sum(count for count, _ in self.votes)
        return majority_at_k(self.votes, num_silent, k)


def by_item(predictions: Iterable[Prediction]) -> dict[str, ItemSamples]:
    """The predictions of each item by its id, samples in their order, items as they first appear."""
    grouped: defaultdict[str, list[Prediction]] = defaultdict(list)
    for prediction in predictions:
        grouped[prediction.item_id].append(prediction)
    return {
        item_id: ItemSamples(tuple(sorted(found, key=lambda one: one.sample)))
        for item_id, found in grouped.items()
    }
