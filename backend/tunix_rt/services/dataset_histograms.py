"""How the rows of a dataset spread: steps, lengths and linter scores, ready to be drawn."""

from collections import Counter
from uuid import UUID

from pydantic import BaseModel, ConfigDict
from pydantic_core import from_json

from tunix_rt.base.home import Home
from tunix_rt.base.statistics import Bin, histogram
from tunix_rt.core.dataset_rows import row_sizes
from tunix_rt.services.datasets import chosen_split, get_dataset, iter_rows
from tunix_rt.traces.store import TraceRepository


class DatasetHistograms(BaseModel):
    """The rows of one split in bins."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    dataset_key: str
    split: str
    num_rows: int
    steps: tuple[Bin, ...]
    """Steps per row."""
    chars: tuple[Bin, ...]
    """Characters of prompt, steps and answer per row."""
    scores: tuple[Bin, ...]
    """Linter scores of the rows' traces as the store has them."""
    num_unscored: int
    """Rows whose trace was never judged or is not stored any more."""


def dataset_histograms(home: Home, key: str, split: str | None) -> DatasetHistograms:
    """The histograms of a split (the first one unless named), or NotFoundError."""
    datasets_dir = home.settings.datasets_dir
    chosen = chosen_split(get_dataset(datasets_dir, key), split)
    steps: Counter[float] = Counter()
    chars: Counter[float] = Counter()
    ids: list[UUID] = []
    for row in iter_rows(datasets_dir, key, chosen.name):
        num_steps, num_chars = row_sizes(from_json(row.canonical))
        steps[num_steps] += 1
        chars[num_chars] += 1
        ids.append(row.id)
    scores = TraceRepository(home.database).scores(ids)
    return DatasetHistograms(
        dataset_key=key,
        split=chosen.name,
        num_rows=len(ids),
        steps=histogram(steps),
        chars=histogram(chars),
        scores=histogram(Counter(scores.values())),
        num_unscored=len(ids) - len(scores),
    )
