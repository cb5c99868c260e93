"""Statistics of a split, gathered row by row."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from tunix_rt.core.dataset import Distribution, SplitStatistics
from tunix_rt.core.dataset_rows import RowFacts

MAX_NAMES = 50
OTHER = "(other)"


def split_statistics(rows: Iterable[RowFacts]) -> SplitStatistics:
    """What the rows of one split look like, in one pass."""
    steps: Counter[float] = Counter()
    chars: Counter[float] = Counter()
    scores: Counter[float] = Counter()
    labels: dict[str, Counter[str]] = {name: Counter() for name in ("source", "category", "difficulty")}
    answers: defaultdict[bytes, set[bytes]] = defaultdict(set)
    for row in rows:
        steps[row.num_steps] += 1
        chars[row.num_chars] += 1
        if row.score is not None:
            scores[row.score] += 1
        for name, counter in labels.items():
            counter[getattr(row, name)] += 1
        answers[row.question_key].add(row.answer_key)
    return SplitStatistics(
        num_rows=steps.total(),
        num_prompts=len(answers),
        num_prompts_with_several_answers=sum(len(keys) > 1 for keys in answers.values()),
        steps=distribution(steps),
        chars=distribution(chars),
        score=distribution(scores),
        num_scored=scores.total(),
        sources=most_common(labels["source"]),
        categories=most_common(labels["category"]),
        difficulties=most_common(labels["difficulty"]),
    )


def distribution(histogram: Mapping[float, int]) -> Distribution | None:
    """Mean and nearest-rank percentiles of counted values; None of no values.

    Example:
        {2: 1, 4: 3} -> mean 3.5, p50 4, p95 4, max 4
    """
    total = sum(histogram.values())
    if total == 0:
        return None
    mean = sum(value * count for value, count in histogram.items()) / total
    return Distribution(
        mean=round(mean, 4),
        p50=_percentile(histogram, 0.50, total),
        p95=_percentile(histogram, 0.95, total),
        max=max(histogram),
    )


def _percentile(histogram: Mapping[float, int], fraction: float, total: int) -> float:
    seen = 0
    for value in sorted(histogram):
        seen += histogram[value]
        if seen >= fraction * total:
            return value
    return max(histogram)


def most_common(counter: Counter[str]) -> dict[str, int]:
    """The most frequent names first, ties by name; the long tail is one entry.

    Example:
        {"a": 1, "b": 2} -> {"b": 2, "a": 1}
    """
    ranked = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    shown = dict(ranked[:MAX_NAMES])
    num_hidden = sum(count for _, count in ranked[MAX_NAMES:])
    return shown | {OTHER: num_hidden} if num_hidden else shown
