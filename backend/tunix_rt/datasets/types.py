"""Dataset specs and manifests, eval items, and their hashes."""

import hashlib
import json
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Literal, get_args
from uuid import UUID

from pydantic import AfterValidator, Field, JsonValue, model_validator

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.records import Frozen, Text
from tunix_rt.traces.types import MAX_ANSWER_CHARS, MAX_PROMPT_CHARS, Meta, TraceFilter

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


class DatasetSpec(Frozen):
    """Which traces a dataset contains, and how it is built: the build request and command options."""

    dataset_name: Annotated[str, Field(pattern=NAME_PATTERN)]
    dataset_version: Annotated[str, Field(pattern=VERSION_PATTERN)] = "v1"
    filters: TraceFilter = TraceFilter()
    """Which stored traces to consider. An empty filter selects all."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """At most this many rows, after duplicates are removed. None: all rows."""
    selection_strategy: Literal["latest", "random"] = "latest"
    """Which rows `limit` keeps: the newest, or a seeded random sample."""
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    """Seed of the random selection and the splits."""
    splits: Splits = Field(default_factory=lambda: {"train": 0.9, "validation": 0.1})
    """Fraction of the questions per split. All solutions of a question are in the same split."""
    dedup: DedupMode = "exact"
    """Remove exact duplicates of a solution, or also near-duplicates (`near`)."""
    near_threshold: Annotated[float, Field(ge=0.5, le=1)] = 0.8
    """Minimum Jaccard similarity of word triples for near-duplicates."""
    max_per_prompt: Annotated[int, Field(ge=1)] | None = None
    """At most this many solutions per question. None: no limit."""
    allow_contamination: bool = False
    """Keep and record rows that overlap with an eval set, instead of rejecting the build."""
    remove_contaminated: bool = False
    """Remove and record rows that overlap with an eval set."""
    parent_dataset_key: Annotated[str, Field(pattern=KEY_PATTERN)] | None = None
    """The parent dataset, recorded with its content hash."""
    license: Annotated[str, Field(pattern=r"^[A-Za-z0-9.+-]{1,64}$")] = "unknown"
    """SPDX identifier of the licence of the rows, for the dataset card."""
    provenance: Meta = Field(default_factory=dict)
    """Free notes, e.g. the origin of the traces or the reason for the build."""

    @model_validator(mode="after")
    def _one_answer_to_contamination(self) -> "DatasetSpec":
        if self.allow_contamination and self.remove_contaminated:
            raise ValueError("allow_contamination and remove_contaminated exclude each other; set one")
        return self

    @property
    def dataset_key(self) -> str:
        """`name-vN`, the identifier of the dataset."""
        return f"{self.dataset_name}-{self.dataset_version}"

    def resolved(self) -> dict[str, Any]:
        """Every value, including defaults but without null values."""
        return self.model_dump(mode="json", exclude_none=True)


def checked_key(key: str) -> str:
    """Return the key if it is valid; path traversal is rejected here."""
    if not re.fullmatch(KEY_PATTERN, key):
        raise InvalidInputError(
            f"{key[:80]!r} is not a dataset key.",
            next_step="Use lower-case letters, digits, '.', '_' and '-', e.g. 'gsm8k-v1'. "
            "`tunix-rt data list` shows the keys.",
        )
    return key


def checked_split(split: str) -> str:
    """Return the split name if it is valid."""
    if not re.fullmatch(SPLIT_PATTERN, split):
        raise InvalidInputError(
            f"{split[:80]!r} is not a split name.",
            next_step="Use lower-case letters, digits and '_', e.g. 'train'.",
        )
    return split


RemovalReason = Literal["exact-duplicate", "near-duplicate", "max-per-prompt", "contaminated", "limit"]
OverlapKind = Literal["same-question", "near-duplicate", "contained"]


class Distribution(Frozen):
    """The distribution of a quantity over the rows."""

    mean: float
    p50: float
    p95: float
    max: float


class SplitStatistics(Frozen):
    """Statistics of a split."""

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


class SplitFile(Frozen):
    """One split on disk."""

    name: str
    sha256: str
    num_bytes: int
    statistics: SplitStatistics

    @property
    def filename(self) -> str:
        """The JSONL file inside the dataset directory."""
        return f"{self.name}.jsonl"


class RemovedPair(Frozen):
    """One removed row, and the row or eval item that is the reason."""

    trace_id: UUID
    because_of: str
    """The id of the kept trace, or `evalset/item`."""
    similarity: Annotated[float, Field(ge=0, le=1)]


class Removal(Frozen):
    """Rows removed for one reason, with the first examples."""

    reason: RemovalReason
    num_rows: int
    examples: tuple[RemovedPair, ...] = ()


class Overlap(Frozen):
    """A row that overlaps with an eval set."""

    trace_id: UUID
    evalset: str
    item_id: str
    kind: OverlapKind
    similarity: Annotated[float, Field(ge=0, le=1)]


class CheckedEvalSet(Frozen):
    """An eval set that the rows were compared with."""

    name: str
    num_items: int
    sha256: str


class ContaminationReport(Frozen):
    """The overlaps with the eval sets, and the decision about them."""

    evalsets: tuple[CheckedEvalSet, ...]
    verdict: Literal["clean", "allowed", "removed"]
    num_overlapping_rows: int
    overlaps: tuple[Overlap, ...]
    """The first overlaps, in trace id order."""


class ParentDataset(Frozen):
    """The parent dataset."""

    dataset_key: str
    content_hash: str


class DatasetLineage(Frozen):
    """The lineage of the rows. The filters and the seed are in the spec."""

    parent: ParentDataset | None = None
    linter_version: str | None = None
    """The linter whose scores and codes the filters used; absent when no filter used them."""


class DatasetManifest(Frozen):
    """The manifest of a dataset directory. It is written last, so a dataset with a manifest is complete."""

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


class BuildOutcome(Frozen):
    """The result of a build: the dataset was created, or exists with the same content."""

    dataset_key: str
    status: Literal["created", "unchanged"]
    trace_count: int
    manifest: DatasetManifest


class DatasetSummary(Frozen):
    """One row of a list of datasets."""

    dataset_key: str
    content_hash: str
    created_at: datetime
    num_rows: int
    splits: dict[str, int]
    """Rows per split."""


def summarise(manifest: DatasetManifest) -> DatasetSummary:
    """The summary of a manifest for lists."""
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


CheckerName = Literal["number", "quantity", "math", "choice", "text", "list", "set", "date", "task"]
CHECKER_NAMES: tuple[CheckerName, ...] = get_args(CheckerName)

Section = Literal["core", "trace_sensitive", "edge_case"]
Difficulty = Literal["easy", "medium", "hard"]

_REQUIRED_FIELDS = frozenset({"id", "prompt", "expected_answer", "section", "category", "difficulty"})


class GymTask(Frozen):
    """The reasoning-gym entry behind an item. A checker generates it again to verify answers."""

    name: Annotated[Text, Field(max_length=128)]
    """Name of the task, e.g. `chain_sum`."""
    seed: int | None = Field(default=None, exclude_if=lambda value: value is None)
    index: Annotated[int, Field(ge=0)] | None = Field(default=None, exclude_if=lambda value: value is None)
    """Number of the entry under this seed. Items without seed and index have them in their id."""
    options: dict[str, JsonValue] = Field(default={}, exclude_if=lambda value: not value)
    """The task's own options, if any were given."""
    entry: dict[str, JsonValue] = Field(default={}, exclude_if=lambda value: not value)
    """The entry as earlier versions stored it. Not read, because anyone could have written it."""


class EvalItem(Frozen):
    """One question and its expected answer."""

    id: Annotated[Text, Field(max_length=128)]
    prompt: Annotated[Text, Field(max_length=MAX_PROMPT_CHARS)]
    expected_answer: Annotated[Text, Field(max_length=MAX_ANSWER_CHARS)]
    section: Section = "core"
    """`core`: everyday skills; `trace_sensitive`: hard without working; `edge_case`: odd input."""
    category: Annotated[Text, Field(max_length=64)] = "general"
    difficulty: Difficulty = "medium"
    answer_type: CheckerName | None = None
    """The checker for the answer. None: chosen by the form of the expected answer."""
    accepted_answers: tuple[Annotated[Text, Field(max_length=MAX_ANSWER_CHARS)], ...] = ()
    """Other correct answers."""
    choices: tuple[Annotated[Text, Field(max_length=MAX_ANSWER_CHARS)], ...] = ()
    """The texts of options A, B, C, …; the expected answer is a letter or one of the texts."""
    task: GymTask | None = None
    """For `answer_type: task`."""

    @model_validator(mode="after")
    def _can_be_checked(self) -> "EvalItem":
        if (self.answer_type == "task") != (self.task is not None):
            raise ValueError("answer_type 'task' and the field task go together")
        if self.choices and self.answer_type not in (None, "choice"):
            raise ValueError(f"choices need answer_type 'choice', not {self.answer_type!r}")
        return self


def item_json(item: EvalItem) -> str:
    """The canonical JSON of an item: a line of an eval set file, in the order of the fields.

    Fields that every item has are always written, optional fields only if they are set.
    """
    values = item.model_dump(mode="json")
    defaults = EvalItem.model_fields
    kept = {
        name: value
        for name, value in values.items()
        if name in _REQUIRED_FIELDS or getattr(item, name) != defaults[name].default
    }
    return json.dumps(kept, ensure_ascii=False)


def evalset_hash(items: Iterable[EvalItem]) -> str:
    """SHA-256 of the items in their order: equal hashes mean equal questions."""
    digest = hashlib.sha256()
    for item in items:
        digest.update(item_json(item).encode("utf-8") + b"\n")
    return digest.hexdigest()
