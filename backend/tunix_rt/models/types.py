"""Registered models: references, versions, file trees, export reports, and summaries of evaluations."""

import hashlib
import json
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, Field

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.records import Count, Record, StorableText
from tunix_rt.engines.training.types import RunFigures
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle

ModelOrigin = Literal["run", "registry", "directory", "hub", "kaggle", "built-in", "predictions"]


Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class EvaluatedModel(Record):
    """What was evaluated, and where it comes from."""

    name: str
    """The requested name: a run id, a directory name, a hub id, or `name:version` of a registered model."""
    origin: ModelOrigin
    """`predictions`: texts from an external source; no model was loaded."""
    weights: Literal["pretrained", "random"] = "pretrained"
    seed: Count | None = None
    """Seed of random weights."""
    revision: str | None = None
    """The commit on the hub."""
    weights_hash: str | None = None
    """SHA-256 over the weight files."""
    weight_files: dict[str, Sha256] | None = None
    """SHA-256 of each of them, by `model/<name>` or `adapter/<name>`; absent in older evaluations."""
    is_adapter: bool = False
    run_id: str | None = None
    base_model: str | None = None
    """The model that the run started from."""
    dataset: str | None = None
    dataset_hash: str | None = None
    recipe: str | None = None
    """File name of the recipe, without its extension."""

    @property
    def is_trained_here(self) -> bool:
        """Whether a run trained it; anything else is a base model to compare with."""
        return self.run_id is not None


class EvaluationSummary(Record):
    """A row of the leaderboard."""

    evaluation_id: UUID
    created_at: datetime
    model: EvaluatedModel
    evalset: str
    evalset_hash: str
    fingerprint: str
    num_items: Count
    num_scored: Count
    num_unscored: Count
    primary_score: float | None = None
    low: float | None = None
    high: float | None = None
    format_adherence: float | None = None
    rescored_from: UUID | None = None


_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _check_inner_path(path: str) -> str:
    """Refuse paths that could lead out of a directory: file lists may come from untrusted sources."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or "\x00" in path:
        raise ValueError(f"{path!r} is not a path inside a directory")
    return path


InnerPath = Annotated[str, AfterValidator(_check_inner_path)]
"""A path that stays inside the directory it is joined to."""


class ModelFile(Record):
    """One file of a model."""

    path: InnerPath
    """Relative to the model's directory, with `/` as separator."""
    size_bytes: Count
    sha256: Sha256


class ModelTree(Record):
    """All files of a model, by path."""

    files: tuple[ModelFile, ...]

    @property
    def content_hash(self) -> str:
        """SHA-256 over paths, sizes and hashes: models with the same hash are bit-identical."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    @property
    def canonical(self) -> str:
        """The canonical JSON text, which is hashed and stored."""
        return _CANONICAL.encode(self.model_dump())

    @property
    def size_bytes(self) -> int:
        """Total size of all files."""
        return sum(file.size_bytes for file in self.files)


def build_tree(files: list[ModelFile]) -> ModelTree:
    """The tree of these files, sorted by path as its hash requires."""
    return ModelTree(files=tuple(sorted(files, key=lambda file: file.path)))


NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
WORD_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
_RESERVED = frozenset({"versions"})
"""Names that are HTTP paths next to `/api/models/{model}`."""
# A number of more than 9 digits would not fit the version column.
_WORD = r"(?![0-9]{10,}$)[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_REFERENCE = re.compile(rf"(?P<name>{NAME_PATTERN[1:-1]})(?:@(?P<alias>{_WORD})|:(?P<version>{_WORD}))?")


def _check_name(name: str) -> str:
    is_reserved = name in _RESERVED
    with suppress(ValueError):
        is_reserved |= bool(UUID(name))
    if is_reserved:
        raise ValueError(f"{name!r} is reserved for paths of the API; choose another name")
    return name


def _check_label(label: str) -> str:
    if label.isdecimal():
        raise ValueError(f"{label!r} would be mistaken for a version number; add a letter")
    return label


ModelName = Annotated[str, Field(pattern=NAME_PATTERN), AfterValidator(_check_name)]
Alias = Annotated[str, Field(pattern=WORD_PATTERN)]
Label = Annotated[str, Field(pattern=WORD_PATTERN), AfterValidator(_check_label)]
TagName = Annotated[str, Field(pattern=WORD_PATTERN)]


@dataclass(frozen=True)
class ModelReference:
    """A model and one of its versions: by alias, number or label, or the newest."""

    name: str
    alias: str | None = None
    version: int | None = None
    label: str | None = None

    def __str__(self) -> str:
        if self.alias is not None:
            return f"{self.name}@{self.alias}"
        chosen = self.label if self.version is None else self.version
        return self.name if chosen is None else f"{self.name}:{chosen}"


def parse_reference(text: str) -> ModelReference:
    """Parse a model reference.

    Example:
        "demo@champion" -> alias champion; "demo:3" -> version 3; "demo:spring" -> label; "demo" -> the newest

    Raises:
        InvalidInputError: It is not a valid reference.
    """
    match = _REFERENCE.fullmatch(text)
    if match is None:
        raise InvalidInputError(
            f"{text!r} is not a valid model reference.",
            next_step="Use NAME, NAME@ALIAS or NAME:VERSION; names have letters, digits, '.', '_' and '-'.",
        )
    name, alias, version = match["name"], match["alias"], match["version"]
    if version is not None and version.isdecimal():
        return ModelReference(name, version=int(version))
    return ModelReference(name, alias=alias, label=version)


def is_reference(text: str) -> bool:
    """Whether the text has an alias or a version, so that it can only mean a registered model."""
    match = _REFERENCE.fullmatch(text)
    return match is not None and match.lastgroup != "name"


ModelKind = Literal["model", "adapter"]
"""A whole model in the Hugging Face layout, or a LoRA adapter in the PEFT layout."""

Note = Annotated[StorableText, Field(max_length=20_000)]
TagValue = Annotated[StorableText, Field(max_length=1_000)]
Tags = dict[TagName, TagValue]
TaskType = Annotated[StorableText, Field(min_length=1, max_length=64)]
VersionNumber = Annotated[int, Field(ge=1, le=2**31 - 1)]


class BaseReference(Record):
    """The model that training started from; an adapter cannot be used without it."""

    name: str
    """Hub id, `kaggle:` handle, directory or built-in model, as the recipe named it."""
    revision: str | None = None
    weights: Literal["pretrained", "random"] = "pretrained"
    seed: Count | None = None
    """Seed of random weights."""
    drawn_by: str | None = None
    """The engine that initialized the random weights; other engines give other weights."""


class ModelLineage(Record):
    """Where a version comes from. Unknown fields are omitted."""

    run_id: str | None = None
    step: Count | None = None
    """Number of training steps of the weights."""
    is_checkpoint: bool = False
    """Whether the weights come from a checkpoint instead of the export at the end of the run."""
    recipe: str | None = None
    """File name of the recipe, without its extension."""
    mode: str | None = None
    engine: str | None = None
    tunix_rt_version: str | None = None
    commit: str | None = None
    """Commit of the training code."""
    is_dirty: bool | None = None
    dataset: str | None = None
    dataset_hash: str | None = None
    base: BaseReference | None = None
    parent: str | None = None
    """`name:version` of the registered model that training started from."""
    figures: RunFigures | None = None
    trained_at: datetime | None = None


class VersionAnnotations(Record):
    """What users add to a version."""

    label: Label | None = None
    """A second, permanent name of the version."""
    notes: Note = ""
    tags: Tags = Field(default_factory=dict)


class NewVersion(VersionAnnotations):
    """A version to register: content, lineage and annotations."""

    kind: ModelKind
    content_hash: Sha256
    size_bytes: Count
    num_files: Count
    markup: MarkupStyle = DEFAULT_MARKUP
    """The markup of reasoning and answer that it was trained with."""
    lineage: ModelLineage


class ModelVersion(NewVersion):
    """Registered weights. Content and lineage are immutable; notes, tags and aliases can change."""

    id: UUID
    model: ModelName
    version: VersionNumber
    created_at: datetime
    aliases: tuple[Alias, ...] = ()

    @property
    def reference(self) -> str:
        """The permanent name of this version."""
        return f"{self.model}:{self.version}"


class NewModel(Record):
    """The body of `POST /api/models`."""

    name: ModelName
    description: Note | None = None
    task_type: TaskType | None = None


class RegisteredModel(NewModel):
    """A named model; its versions hold the weights."""

    id: UUID
    created_at: datetime
    updated_at: datetime
    num_versions: Count = 0
    latest_version: VersionNumber | None = None
    aliases: dict[Alias, VersionNumber] = Field(default_factory=dict)


class ModelDetail(RegisteredModel):
    """A model with all its versions, newest first."""

    versions: tuple[ModelVersion, ...]


ExportForm = Literal["merged", "adapter", "zip"]

PARITY_PROMPTS: tuple[str, ...] = (
    "What is 17 + 25?",
    "A pen costs 3 euros. What do 4 pens cost?",
    "Which is larger, 7/9 or 3/4? Show your work.",
    "How long is it from 9:40 to 13:05?",
    "Simplify 2(x + 3) - 5.",
    "Name three prime numbers greater than 50.",
)
"""Prompts for the registered and the exported model; they define what a report means. All are short, so that
an engine compiles for one shape."""
NUM_PARITY_TOKENS = 32


class PromptParity(Record):
    """The tokens both models generated for one prompt."""

    prompt: str
    registered: tuple[int, ...]
    exported: tuple[int, ...]

    @property
    def first_difference(self) -> int | None:
        """The position of the first token that differs; None if all are equal."""
        pairs = zip_longest(self.registered, self.exported)
        return next((index for index, (one, other) in enumerate(pairs) if one != other), None)


class TokenParity(Record):
    """Greedy tokens of the registered and of the exported model."""

    engine: str
    device: str
    precision: str
    max_new_tokens: Count
    prompts: tuple[PromptParity, ...]

    @property
    def differing(self) -> tuple[PromptParity, ...]:
        """The prompts with different tokens."""
        return tuple(prompt for prompt in self.prompts if prompt.first_difference is not None)


class ExportReport(Record):
    """Which version was exported, to which files, and whether they are the same model."""

    report_version: Literal["1"] = "1"
    version: str
    """`name:version`."""
    content_hash: Sha256
    kind: ModelKind
    form: ExportForm
    created_at: datetime
    tunix_rt_version: str
    files: tuple[ModelFile, ...]
    """Files of the export, without this report and the card."""
    is_same_bytes: bool
    """Whether the files are bit-identical to the registered ones."""
    tokens: TokenParity | None = None
    """Omitted for a zip, whose bytes are compared instead."""
    passed: bool
