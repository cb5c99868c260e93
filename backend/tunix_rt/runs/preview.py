"""Before a run: plans, recipe settings, rows and recipes for /api/tunix."""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any, Literal, Self
from uuid import UUID

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from tunix_rt.base.assets import shipped_model_names
from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.base.home import Home
from tunix_rt.base.records import Record
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.service import get_dataset, iter_rows
from tunix_rt.datasets.types import KEY_PATTERN
from tunix_rt.engines.planning.service import PlanOptions
from tunix_rt.engines.planning.targets import CPU, LOCAL, TARGETS, find_target
from tunix_rt.engines.select import this_machine
from tunix_rt.engines.types import Platform
from tunix_rt.models.client_names import require_client_model
from tunix_rt.recipes.keys import leaf_keys
from tunix_rt.recipes.load import load_recipe, resolve_recipe
from tunix_rt.runs.submit import named_recipe_path, preview_of, requested_recipe, require_data
from tunix_rt.runs.types import PlanRequest, RunPreview
from tunix_rt.traces.export import export_lines
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import StoredTrace


class PlanTarget(Record):
    """Devices of one kind that a run can be planned for."""

    name: str
    description: str
    platform: Platform
    num_devices: int
    memory_bytes: int
    """Usable memory of one device."""
    memory_source: str
    is_here: bool
    """Whether it is this machine."""
    notes: tuple[str, ...] = Field(default=())


class TargetList(Record):
    """Every target, this machine first."""

    data: tuple[PlanTarget, ...]


def list_targets() -> TargetList:
    """The targets of plans, this machine first."""
    here = tuple(find_target(name) for name in (LOCAL, CPU))
    names = PlanTarget.model_fields.keys() - {"is_here"}
    return TargetList(
        data=tuple(
            PlanTarget(**{name: getattr(target, name) for name in names}, is_here=target in here)
            for target in (*here, *TARGETS.values())
        )
    )


def plan_run(settings: Settings, request: PlanRequest) -> RunPreview:
    """Resolve and plan a request; nothing is queued, and nothing refused because it does not fit.

    A recipe without a dataset is planned too: its memory is known, its time is not.

    Raises:
        NotFoundError: The recipe, the dataset, a split of it or the eval set does not exist.
        InvalidInputError: The recipe is invalid, or its sharding does not match the target.
        MissingExtraError: The engine that must run it is not installed.
    """
    requested = requested_recipe(settings, request, allows_paths=False)
    if requested.resolved.recipe.data.dataset is not None:
        require_data(settings, requested.resolved.recipe, request.eval_set)
    options = PlanOptions(is_fast=not request.is_compiled, session_seconds=request.session_seconds)
    return preview_of(settings, requested, request, options)


class RecipeDetail(Record):
    """A named recipe: as it was written, and with all defaults."""

    name: str
    is_shipped: bool
    yaml: str
    recipe: dict[str, JsonValue]
    """With defaults for the keys that are not in the file."""


class RecipeSetting(Record):
    """One key of a recipe."""

    key: str
    """Dotted, as `--set` takes it: `training.learning_rate`."""
    allowed: str
    """In words: `a number above 0`."""
    default: JsonValue
    meaning: str


class RecipeSettingList(Record):
    """Every key with a value, in the order of the schema."""

    data: tuple[RecipeSetting, ...]


def show_recipe(settings: Settings, name: str) -> RecipeDetail:
    """A recipe by its name.

    Raises:
        NotFoundError: No recipe has this name.
    """
    path = named_recipe_path(settings, name)
    with storage_errors("reading a recipe"):
        text = path.read_text(encoding="utf-8-sig")
    return RecipeDetail(
        name=path.stem,
        is_shipped=path.parent != settings.recipes_dir,
        yaml=text,
        recipe=load_recipe(path).recipe.model_dump(mode="json"),
    )


def list_settings() -> RecipeSettingList:
    """The keys that `--set` can change."""
    keys = {key.path: key for key in leaf_keys()}  # both optimizers have a weight_decay
    return RecipeSettingList(
        data=tuple(
            RecipeSetting(key=path, allowed=key.allowed, default=key.default, meaning=key.meaning)
            for path, key in keys.items()
        )
    )


FORMAT: Literal["tunix_sft"] = "tunix_sft"
DatasetKey = Annotated[str, Field(pattern=KEY_PATTERN)]


class SftExport(BaseModel):
    """The rows to export: those of a dataset, or single traces."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    dataset_key: DatasetKey | None = None
    trace_ids: Annotated[tuple[UUID, ...], Field(max_length=10_000)] = ()
    limit: Annotated[int, Field(ge=1, le=10_000)] = 10_000

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.dataset_key is None) == (not self.trace_ids):
            raise ValueError("give either dataset_key or trace_ids")
        return self


class SftManifest(BaseModel):
    """The main settings of a training run."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
    dataset_key: DatasetKey
    model_id: Annotated[str, Field(min_length=1, max_length=256)]
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 2e-5
    weight_decay: Annotated[float, Field(ge=0, le=1)] = 0.01
    num_epochs: Annotated[float, Field(gt=0, le=100)] = 3
    batch_size: Annotated[int, Field(ge=1, le=512)] = 8
    """Rows per optimizer step."""
    max_seq_length: Annotated[int, Field(ge=128, le=32_768)] = 2048
    """Tokens per row."""


class SftRecipe(BaseModel):
    """The recipe for these settings, for `POST /api/tunix/runs` or `tunix-rt train`."""

    model_config = ConfigDict(frozen=True)
    manifest_yaml: str
    dataset_key: str
    model_id: str
    format: Literal["tunix_sft"] = FORMAT
    message: str


class TrainingStatus(BaseModel):
    """Whether this server can train, and with which engines."""

    model_config = ConfigDict(frozen=True)
    available: bool
    engines: tuple[str, ...]
    has_gpu: bool
    has_tpu: bool
    message: str


def training_status() -> TrainingStatus:
    """The engines on this machine; workers elsewhere may have others."""
    machine = this_machine()
    engines = tuple(name for name in ("jax", "torch") if machine.has(name))
    return TrainingStatus(
        available=bool(engines),
        engines=engines,
        has_gpu=machine.has_nvidia_gpu,
        has_tpu=machine.has_tpu,
        message=f"Trains with {' and '.join(engines)}."
        if engines
        else "No engine is installed here. Run: pip install 'tunix-rt[jax]'",
    )


def sft_lines(home: Home, request: SftExport) -> Iterator[str]:
    """The training rows, one JSON object per line.

    Raises:
        NotFoundError: The dataset or a trace does not exist.
    """
    rows: Iterator[StoredTrace] = map(TraceRepository(home.database).get, request.trace_ids)
    if request.dataset_key is not None:
        get_dataset(home.settings.datasets_dir, request.dataset_key)
        rows = iter_rows(home.settings.datasets_dir, request.dataset_key, None)
    return export_lines(islice(rows, request.limit), FORMAT)


def sft_recipe(settings: Settings, request: SftManifest) -> SftRecipe:
    """The recipe for these settings.

    Raises:
        NotFoundError: There is no such dataset.
        InvalidInputError: The model is not one that a client may name.
    """
    require_client_model(settings, request.model_id, key="model_id")
    get_dataset(settings.datasets_dir, request.dataset_key)
    is_built_in = request.model_id in shipped_model_names()
    values: dict[str, Any] = {
        "model": {"name": request.model_id, **({"weights": "random"} if is_built_in else {})},
        "data": {"dataset": request.dataset_key, "row_length": request.max_seq_length},
        "training": {
            "num_epochs": float(request.num_epochs),
            "batch_size": request.batch_size,
            "learning_rate": request.learning_rate,
            "optimizer": {"name": "adamw", "weight_decay": request.weight_decay},
        },
    }
    resolve_recipe(values)
    return SftRecipe(
        manifest_yaml=yaml.safe_dump(values, sort_keys=False, allow_unicode=True),
        dataset_key=request.dataset_key,
        model_id=request.model_id,
        message="Submit it to /api/tunix/runs as `recipe`, or save it and run: tunix-rt train FILE",
    )
