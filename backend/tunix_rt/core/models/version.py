"""A registered model and its versions: the wire format of `/api/models`."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from tunix_rt.base.records import Count, Record, StorableText
from tunix_rt.core.models.reference import Alias, Label, ModelName, TagName
from tunix_rt.core.models.tree import Sha256
from tunix_rt.engines.training.types import RunFigures
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle

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


class Remarks(Record):
    """What people say about a version."""

    label: Label | None = None
    """A second name, beside the number; it never moves."""
    notes: Note = ""
    tags: Tags = Field(default_factory=dict)


class NewVersion(Remarks):
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
