"""The dataset manifest: what a dataset holds, where it comes from, and the hashes that prove it."""

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from tunix_rt.core.dataset_spec import DatasetSpec

RemovalReason = Literal["exact-duplicate", "near-duplicate", "max-per-prompt", "contaminated", "limit"]
OverlapKind = Literal["same-question", "near-duplicate", "contained"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Distribution(_Frozen):
    """How a quantity spreads over the rows."""

    mean: float
    p50: float
    p95: float
    max: float


class SplitStatistics(_Frozen):
    """What a split looks like."""

    num_rows: int
    num_prompts: int
    """Distinct questions."""
    num_prompts_with_several_answers: int
    """Questions whose rows disagree on the final answer."""
    steps: Distribution | None = None
    """Steps per row; absent when the split is empty."""
    chars: Distribution | None = None
    """Characters of prompt, steps and answer per row; absent when the split is empty."""
    score: Distribution | None = None
    """Linter score of the scored rows; absent when none is scored."""
    num_scored: int
    sources: dict[str, int]
    categories: dict[str, int]
    difficulties: dict[str, int]


class SplitFile(_Frozen):
    """One split on disk."""

    name: str
    sha256: str
    num_bytes: int
    statistics: SplitStatistics

    @property
    def filename(self) -> str:
        """The JSONL file inside the dataset directory."""
        return f"{self.name}.jsonl"


class RemovedPair(_Frozen):
    """One row that was left out, and the row or eval item that is the reason."""

    trace_id: UUID
    because_of: str
    """The id of the kept trace, or `evalset/item`."""
    similarity: Annotated[float, Field(ge=0, le=1)]


class Removal(_Frozen):
    """How many rows left for one reason, with the first examples."""

    reason: RemovalReason
    num_rows: int
    examples: tuple[RemovedPair, ...] = ()


class Overlap(_Frozen):
    """A row that an eval set also asks."""

    trace_id: UUID
    evalset: str
    item_id: str
    kind: OverlapKind
    similarity: Annotated[float, Field(ge=0, le=1)]


class CheckedEvalSet(_Frozen):
    """An eval set that the rows were compared with."""

    name: str
    num_items: int
    sha256: str


class ContaminationReport(_Frozen):
    """What the comparison with the eval sets found, and what was decided."""

    evalsets: tuple[CheckedEvalSet, ...]
    verdict: Literal["clean", "allowed", "removed"]
    num_overlapping_rows: int
    overlaps: tuple[Overlap, ...]
    """The first overlaps, in trace id order."""


class ParentDataset(_Frozen):
    """The dataset that this one continues."""

    dataset_key: str
    content_hash: str


class DatasetLineage(_Frozen):
    """Where the rows come from. The filters and the seed are in the spec."""

    parent: ParentDataset | None = None
    linter_version: str | None = None
    """The linter whose scores and codes the filters used; absent when no filter used them."""


class DatasetManifest(_Frozen):
    """The identity card of a dataset directory, written last: its presence means the dataset is complete."""

    manifest_version: Literal["1.0"] = "1.0"
    dataset_key: str
    content_hash: str
    created_at: datetime
    tool_version: str
    spec: DatasetSpec
    num_considered: int
    """Rows that the filters matched."""
    num_rows: int
    """Rows in the dataset, over all splits."""
    removed: tuple[Removal, ...]
    splits: tuple[SplitFile, ...]
    contamination: ContaminationReport
    lineage: DatasetLineage
    card_sha256: str
    warnings: tuple[str, ...] = ()

    def split(self, name: str) -> SplitFile | None:
        """The split of that name, if the dataset has it."""
        return next((split for split in self.splits if split.name == name), None)


class BuildOutcome(_Frozen):
    """What a build did: made the dataset, or found it there with the same content."""

    dataset_key: str
    status: Literal["created", "unchanged"]
    trace_count: int
    manifest: DatasetManifest


class DatasetSummary(_Frozen):
    """One row of a list of datasets."""

    dataset_key: str
    content_hash: str
    created_at: datetime
    num_rows: int
    splits: dict[str, int]
    """Rows per split."""


def summarise(manifest: DatasetManifest) -> DatasetSummary:
    """The line of a manifest in a list."""
    return DatasetSummary(
        dataset_key=manifest.dataset_key,
        content_hash=manifest.content_hash,
        created_at=manifest.created_at,
        num_rows=manifest.num_rows,
        splits={split.name: split.statistics.num_rows for split in manifest.splits},
    )


def content_hash(split_hashes: Iterable[tuple[str, str]]) -> str:
    """One hash over the names and the bytes of all splits, whatever their order.

    Args:
        split_hashes: (split name, SHA-256 of its file) pairs.
    """
    lines = "".join(f"{name} {sha256}\n" for name, sha256 in sorted(split_hashes))
    return hashlib.sha256(lines.encode("utf-8")).hexdigest()
