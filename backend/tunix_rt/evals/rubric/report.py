"""All grades of an evaluation as means with intervals."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from tunix_rt.core.evaluation.rubric import Criterion, Grade, JudgeUsage, MeanGrade, Rubric
from tunix_rt.evals.sampling_statistics import ratio_estimate


def criterion_means(rubric: Rubric, grades: Sequence[Grade]) -> dict[str, MeanGrade]:
    """The mean of every criterion over the texts that were graded; empty when none was."""
    graded = [grade for grade in grades if grade.failure is None]
    if not graded:
        return {}
    return {criterion.name: _mean(criterion, graded) for criterion in rubric.criteria}


def failure_counts(grades: Sequence[Grade]) -> dict[str, int]:
    """Failure code -> texts, sorted by code."""
    return dict(sorted(Counter(grade.failure.code for grade in grades if grade.failure).items()))


def total_usage(grades: Sequence[Grade]) -> JudgeUsage:
    """What all of these took together."""
    return sum((grade.usage for grade in grades), JudgeUsage())


def _mean(criterion: Criterion, graded: Sequence[Grade]) -> MeanGrade:
    width = criterion.highest - criterion.lowest
    of_item: dict[str, list[float]] = defaultdict(list)
    for grade in graded:
        of_item[grade.item_id].append((grade.criteria[criterion.name].score - criterion.lowest) / width)
    estimate = ratio_estimate([(sum(shares), len(shares)) for shares in of_item.values()])
    assert estimate is not None  # there is at least one grade
    mean, low, high = (criterion.lowest + width * x for x in (estimate.value, estimate.low, estimate.high))
    return MeanGrade(
        mean=mean,
        low=low,
        high=high,
        n=estimate.n,
        num_items=len(of_item),
        lowest=criterion.lowest,
        highest=criterion.highest,
    )
