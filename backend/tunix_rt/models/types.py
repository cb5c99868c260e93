"""ModelReference, ModelVersion, file tree, export report, and one line about an evaluation of a model."""

import hashlib
import json
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, Field

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.records import Count, Record, StorableText
from tunix_rt.engines.training.types import RunFigures
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle

ModelOrigin = Literal["run", "registry", "directory", "hub", "kaggle", "built-in", "predictions"]


class EvaluatedModel(Record):
    """What was evaluated, and where it comes from."""

    name: str
    """As it was asked for: a run id, a directory's name, a hub id; of a registered model `name:version`."""
    origin: ModelOrigin
    """`predictions`: texts that something else wrote; no model of ours ran."""
    weights: Literal["pretrained", "random"] = "pretrained"
    seed: Count | None = None
    """Of random weights."""
    revision: str | None = None
    """The commit on the hub."""
    weights_hash: str | None = None
    """SHA-256 over the weight files."""
    is_adapter: bool = False
    run_id: str | None = None
    base_model: str | None = None
    """What the run started from."""
    dataset: str | None = None
    dataset_hash: str | None = None
    recipe: str | None = None
    """Name of the recipe's file, without its ending."""

    @property
    def is_trained_here(self) -> bool:
        """A model of a run; anything else is a base model to compare with."""
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


Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _check_inner_path(path: str) -> str:
    """Refuse what could lead out of a directory, whoever wrote it."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or "\x00" in path:
        raise ValueError(f"{path!r} is no path inside a directory")
    return path


InnerPath = Annotated[str, AfterValidator(_check_inner_path)]
"""A path that stays inside the directory it is joined to."""


class ModelFile(Record):
    """One file of a model."""

    path: InnerPath
    """Inside the model's directory, with `/` between its parts."""
    size_bytes: Count
    sha256: Sha256


class ModelTree(Record):
    """All files of a model, by path."""

    files: tuple[ModelFile, ...]

    @property
    def content_hash(self) -> str:
        """SHA-256 over paths, sizes and hashes: two models with the same hash are the same to the bit."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    @property
    def canonical(self) -> str:
        """The one text of the tree: what is hashed and stored."""
        return _CANONICAL.encode(self.model_dump())

    @property
    def size_bytes(self) -> int:
        """Of all files."""
        return sum(file.size_bytes for file in self.files)


def build_tree(files: list[ModelFile]) -> ModelTree:
    """The tree of these files, in the order that the hash is defined over."""
    return ModelTree(files=tuple(sorted(files, key=lambda file: file.path)))


NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
WORD_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
_RESERVED = frozenset({"versions"})
"""Paths of the HTTP surface beside the names."""
_MAX_DIGITS = 9
_REFERENCE = re.compile(r"(?P<name>[^@:]+)(?:@(?P<alias>[^@:]+)|:(?P<version>[^@:]+))?")


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _check_name(name: str) -> str:
    if name in _RESERVED or _is_uuid(name):
        raise ValueError(f"{name!r} is taken by the paths of the API; choose another name")
    return name


def _check_label(label: str) -> str:
    if label.isdecimal():
        raise ValueError(f"{label!r} would be mistaken for a version's number; add a letter")
    return label


ModelName = Annotated[str, Field(pattern=NAME_PATTERN), AfterValidator(_check_name)]
Alias = Annotated[str, Field(pattern=WORD_PATTERN)]
Label = Annotated[str, Field(pattern=WORD_PATTERN), AfterValidator(_check_label)]
TagName = Annotated[str, Field(pattern=WORD_PATTERN)]


@dataclass(frozen=True)
class ModelReference:
    """A model, and which of its versions: by alias, by number, by label, or the newest."""

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
    """Read what a person wrote.

    Example:
        "demo@champion" -> alias champion; "demo:3" -> version 3; "demo:spring" -> label; "demo" -> the newest

    Raises:
        InvalidInputError: It cannot name a registered model.
    """
    match = _REFERENCE.fullmatch(text)
    if match is None or not _is_valid(match):
        raise InvalidInputError(
            f"{text!r} cannot name a registered model.",
            next_step="Write NAME, NAME@ALIAS or NAME:VERSION; names have letters, digits, '.', '_' and '-'.",
        )
    version = match["version"]
    if version is not None and version.isdecimal():
        return ModelReference(match["name"], version=int(version))
    return ModelReference(match["name"], alias=match["alias"], label=version)


def is_reference(text: str) -> bool:
    """Whether the text says alias or version of a registered model, and so can be nothing else of ours."""
    match = _REFERENCE.fullmatch(text)
    return match is not None and _is_valid(match) and (match["alias"] or match["version"]) is not None


def _is_valid(match: re.Match[str]) -> bool:
    words = [word for word in (match["alias"], match["version"]) if word is not None]
    is_named = re.fullmatch(NAME_PATTERN, match["name"]) is not None
    return is_named and all(re.fullmatch(WORD_PATTERN, word) and not _is_too_large(word) for word in words)


def _is_too_large(word: str) -> bool:
    """No database counts that far."""
    return word.isdecimal() and len(word) > _MAX_DIGITS


ModelKind = Literal["model", "adapter"]
"""A whole model in the Hugging Face layout, or a LoRA adapter in PEFT's."""

MAX_NOTE_CHARS = 20_000
Note = Annotated[StorableText, Field(max_length=MAX_NOTE_CHARS)]
TagValue = Annotated[StorableText, Field(max_length=1_000)]
Tags = dict[TagName, TagValue]
TaskType = Annotated[StorableText, Field(min_length=1, max_length=64)]
VersionNumber = Annotated[int, Field(ge=1, le=2**31 - 1)]


class BaseReference(Record):
    """The model that a training started from; an adapter cannot be used without it."""

    name: str
    """Hub id, `kaggle:` handle, directory or built-in model, as the recipe named it."""
    revision: str | None = None
    weights: Literal["pretrained", "random"] = "pretrained"
    seed: Count | None = None
    """Of random weights."""
    drawn_by: str | None = None
    """The engine that drew the random weights: no other draws the same."""


class ModelLineage(Record):
    """Where a version comes from. What is not known is left out."""

    run_id: str | None = None
    step: Count | None = None
    """Steps that the weights have behind them."""
    is_checkpoint: bool = False
    """Whether they come from a checkpoint, and are not what the run exported at its end."""
    recipe: str | None = None
    """Name of the recipe's file, without its ending."""
    mode: str | None = None
    engine: str | None = None
    tunix_rt_version: str | None = None
    commit: str | None = None
    """Of the code that trained."""
    is_dirty: bool | None = None
    dataset: str | None = None
    dataset_hash: str | None = None
    base: BaseReference | None = None
    parent: str | None = None
    """`name:version` of the registered model that the training started from."""
    figures: RunFigures | None = None
    trained_at: datetime | None = None


class VersionAnnotations(Record):
    """What people say about a version."""

    label: Label | None = None
    """A second name, beside the number; it never moves."""
    notes: Note = ""
    tags: Tags = Field(default_factory=dict)


class NewVersion(VersionAnnotations):
    """What is registered: content, origin and what people say about it."""

    kind: ModelKind
    content_hash: Sha256
    size_bytes: Count
    num_files: Count
    markup: MarkupStyle = DEFAULT_MARKUP
    """What it was trained to put around reasoning and answer."""
    lineage: ModelLineage


class ModelVersion(NewVersion):
    """Registered weights. Content and lineage never change; notes, tags and aliases do."""

    id: UUID
    model: ModelName
    version: VersionNumber
    created_at: datetime
    aliases: tuple[Alias, ...] = ()

    @property
    def reference(self) -> str:
        """The name that always means this version."""
        return f"{self.model}:{self.version}"


class NewModel(Record):
    """The body of `POST /api/models`."""

    name: ModelName
    description: Note | None = None
    task_type: TaskType | None = None


class RegisteredModel(NewModel):
    """A model by its name; the weights are in its versions."""

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
"""Asked of the registered and of the exported model; they are part of what a report means. All are short, so
that an engine compiles for one shape."""
NUM_PARITY_TOKENS = 32


class PromptParity(Record):
    """What both models wrote for one prompt, token by token."""

    prompt: str
    registered: tuple[int, ...]
    exported: tuple[int, ...]

    @property
    def first_difference(self) -> int | None:
        """The position of the first token that differs; None: there is none."""
        if self.registered == self.exported:
            return None
        pairs = zip(self.registered, self.exported, strict=False)
        shorter = min(len(self.registered), len(self.exported))
        return next((index for index, (one, other) in enumerate(pairs) if one != other), shorter)


class TokenParity(Record):
    """Greedy tokens of the registered and of the exported model."""

    engine: str
    device: str
    precision: str
    max_new_tokens: Count
    prompts: tuple[PromptParity, ...]

    @property
    def differing(self) -> tuple[PromptParity, ...]:
        """The prompts that the two do not answer alike."""
        return tuple(prompt for prompt in self.prompts if prompt.first_difference is not None)


class ExportReport(Record):
    """Which version was exported, into which files, and that they are the same model."""

    report_version: Literal["1"] = "1"
    version: str
    """`name:version`."""
    content_hash: Sha256
    kind: ModelKind
    form: ExportForm
    created_at: datetime
    tunix_rt_version: str
    files: tuple[ModelFile, ...]
    """Of the export, this report and the card left out."""
    is_same_bytes: bool
    """Whether the files are those that were registered, bit for bit."""
    tokens: TokenParity | None = None
    """Left out of a zip: its bytes are compared instead."""
    passed: bool
