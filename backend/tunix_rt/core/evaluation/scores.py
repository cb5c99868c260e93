"""The scores of an evaluation. Every share carries its n and its 95 % interval."""

from typing import Annotated, Literal

from pydantic import Field

from tunix_rt.base.records import Count, Record


class Estimate(Record):
    """A mean in [0, 1] with its 95 % interval."""

    value: Annotated[float, Field(ge=0, le=1)]
    low: Annotated[float, Field(ge=0, le=1)]
    high: Annotated[float, Field(ge=0, le=1)]
    n: Count
    """Of what it is the mean: items, predictions or steps."""
    method: Literal["wilson", "bootstrap-by-item", "wilson-by-item"]
    """How the interval was made. `wilson-by-item`: all items agree, so that resampling them says nothing."""

    def __str__(self) -> str:
        return f"{self.value:.1%} (95 % {self.low:.1%}–{self.high:.1%}, n = {self.n:,})"


class Spread(Record):
    """How large something is, over predictions."""

    mean: float
    median: float
    p90: float
    n: Count


class GroupScores(Record):
    """The scores of a group of items. What has no n (no scored item, no step) is left out."""

    num_items: Count
    num_predictions: Count
    num_scored: Count
    num_unscored: Count
    """Predictions without a verdict, by a failure of generation or of a checker: in no mean."""
    num_no_answer: Count
    num_lenient: Count
    """Answers that only a lenient rule found."""
    num_cut_off: Count
    """Completions that did not end their turn."""
    num_steps: Count
    """Steps of the work shown."""
    accuracy: Estimate | None = None
    """Right answers among the scored; what a lenient rule found counts as wrong. With several samples: the
    mean over items of the share of right ones."""
    lenient_accuracy: Estimate | None = None
    """The same with lenient rules; left out where the protocol allows none."""
    format_adherence: Estimate | None = None
    """Completions in exactly the form that training teaches."""
    reasoning_tokens: Spread | None = None
    reasoning_steps: Spread | None = None
    step_correctness: Estimate | None = None
    """Steps whose arithmetic is confirmed, among the steps with arithmetic that can be checked."""
    right_by_wrong_work: Estimate | None = None
    """Right answers with a broken step in the work shown, among the right answers."""
    pass_at: dict[int, Estimate] = Field(default_factory=dict)
    """k -> the chance that at least one of k samples is right; empty when one sample was drawn."""
    majority_at: dict[int, Estimate] = Field(default_factory=dict)
    """k -> the chance that the most frequent answer of k samples is right, ties drawn by lot."""


class Scores(Record):
    """All scores of an evaluation."""

    primary_score: Annotated[float, Field(ge=0, le=1)] | None = None
    """The accuracy. None: nothing could be scored."""
    overall: GroupScores
    by_section: dict[str, GroupScores]
    by_category: dict[str, GroupScores]
    by_difficulty: dict[str, GroupScores]
    failures: dict[str, Count]
    """Failure code -> predictions without a verdict; `checker`: there is a text that could not be checked."""
    rules: dict[str, Count]
    """Extraction rule -> answers that it found."""
