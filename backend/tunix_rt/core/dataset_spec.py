"""What a person asks for when they build a dataset: the closed spec and the names it may use."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.traces.types import Meta, TraceFilter

NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,127}$"
VERSION_PATTERN = r"^v[0-9][a-z0-9._]{0,30}$"
SPLIT_PATTERN = r"^[a-z][a-z0-9_]{0,31}$"
KEY_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,160}$"
MAX_SPLITS = 8

DedupMode = Literal["none", "exact", "near"]


def _fractions_that_sum_to_one(splits: dict[str, float]) -> dict[str, float]:
    if not 1 <= len(splits) <= MAX_SPLITS:
        raise ValueError(f"needs 1 to {MAX_SPLITS} splits, got {len(splits)}")
    for name, fraction in splits.items():
        if not re.fullmatch(SPLIT_PATTERN, name):
            raise ValueError(f"split name {name!r} must be lower-case letters, digits and _, e.g. 'train'")
        if not 0 < fraction <= 1:
            raise ValueError(f"the fraction of {name!r} must be above 0 and at most 1, got {fraction}")
    if abs(sum(splits.values()) - 1) > 1e-6:
        raise ValueError(f"the fractions must sum to 1, got {sum(splits.values()):g}")
    return splits


Splits = Annotated[dict[str, float], AfterValidator(_fractions_that_sum_to_one)]


class DatasetSpec(BaseModel):
    """Which traces make a dataset, and how. The body of a build request and the options of the command."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    dataset_name: Annotated[str, Field(pattern=NAME_PATTERN)]
    dataset_version: Annotated[str, Field(pattern=VERSION_PATTERN)] = "v1"
    filters: TraceFilter = TraceFilter()
    """Which stored traces are considered; nothing given means all."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """At most this many rows, counted after duplicates are gone. None: all of them."""
    selection_strategy: Literal["latest", "random"] = "latest"
    """Which rows stay when `limit` cuts: the newest, or a seeded sample."""
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    """Decides the random selection and the splits."""
    splits: Splits = Field(default_factory=lambda: {"train": 0.9, "validation": 0.1})
    """Fraction of the questions per split. A question is on one side only, whatever its solutions."""
    dedup: DedupMode = "exact"
    """Remove the same solution of the same question, or also almost the same one (`near`)."""
    near_threshold: Annotated[float, Field(ge=0.5, le=1)] = 0.8
    """Jaccard similarity of word triples from which two solutions count as near-duplicates."""
    max_per_prompt: Annotated[int, Field(ge=1)] | None = None
    """At most this many solutions of one question. None: any number."""
    allow_contamination: bool = False
    """Keep rows that overlap with an eval set and record them, instead of refusing the build."""
    remove_contaminated: bool = False
    """Leave out rows that overlap with an eval set and record them."""
    parent_dataset_key: Annotated[str, Field(pattern=KEY_PATTERN)] | None = None
    """The dataset this one continues; recorded with its content hash."""
    license: Annotated[str, Field(pattern=r"^[A-Za-z0-9.+-]{1,64}$")] = "unknown"
    """SPDX name of the licence of the rows, for the dataset card."""
    provenance: Meta = Field(default_factory=dict)
    """Notes for the reader: where the traces come from, who asked for the build."""

    @model_validator(mode="after")
    def _one_answer_to_contamination(self) -> "DatasetSpec":
        if self.allow_contamination and self.remove_contaminated:
            raise ValueError("allow_contamination and remove_contaminated exclude each other; set one")
        return self

    @property
    def dataset_key(self) -> str:
        """`name-vN`, the name of the dataset everywhere."""
        return f"{self.dataset_name}-{self.dataset_version}"

    def resolved(self) -> dict[str, Any]:
        """Every value that was in force, defaults included, without the absent ones."""
        return self.model_dump(mode="json", exclude_none=True)


def checked_key(key: str) -> str:
    """The key itself if it can only name a dataset; path tricks are refused here."""
    if not re.fullmatch(KEY_PATTERN, key):
        raise InvalidInputError(
            f"{key[:80]!r} is not a dataset key.",
            next_step="Use lower-case letters, digits, '.', '_' and '-', e.g. 'gsm8k-v1'. "
            "`tunix-rt data list` shows the keys.",
        )
    return key


def checked_split(split: str) -> str:
    """The split name itself if it can only name a split."""
    if not re.fullmatch(SPLIT_PATTERN, split):
        raise InvalidInputError(
            f"{split[:80]!r} is not a split name.",
            next_step="Use lower-case letters, digits and '_', e.g. 'train'.",
        )
    return split
