"""What the routes of `/api/tunix` make of a dataset: rows to train on, and the recipe of a run."""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any, Literal, Self
from uuid import UUID

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from tunix_rt.base.assets import shipped_model_names
from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.service import get_dataset, iter_rows
from tunix_rt.datasets.types import KEY_PATTERN
from tunix_rt.engines.select import this_machine
from tunix_rt.recipes.load import resolve_recipe
from tunix_rt.traces.export import export_lines
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import StoredTrace

FORMAT: Literal["tunix_sft"] = "tunix_sft"
DatasetKey = Annotated[str, Field(pattern=KEY_PATTERN)]


class SftExport(BaseModel):
    """Which rows are wanted: those of a dataset, or single traces."""

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
    """A training in a few words."""

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
    """The recipe of such a training, for `POST /api/tunix/runs` or `tunix-rt train`."""

    model_config = ConfigDict(frozen=True)
    manifest_yaml: str
    dataset_key: str
    model_id: str
    format: Literal["tunix_sft"] = FORMAT
    message: str


class TrainingStatus(BaseModel):
    """Whether this server can train, and with what."""

    model_config = ConfigDict(frozen=True)
    available: bool
    engines: tuple[str, ...]
    has_gpu: bool
    has_tpu: bool
    message: str


def training_status() -> TrainingStatus:
    """What is installed here; workers elsewhere may have more."""
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


def sft_lines(home: Home, wanted: SftExport) -> Iterator[str]:
    """The rows as they are trained on, one JSON object a line.

    Raises:
        NotFoundError: The dataset or a trace does not exist.
    """
    return export_lines(islice(_rows(home, wanted), wanted.limit), FORMAT)


def _rows(home: Home, wanted: SftExport) -> Iterator[StoredTrace]:
    if wanted.dataset_key is None:
        return map(TraceRepository(home.database).get, wanted.trace_ids)
    get_dataset(home.settings.datasets_dir, wanted.dataset_key)
    return iter_rows(home.settings.datasets_dir, wanted.dataset_key, None)


def sft_recipe(settings: Settings, wanted: SftManifest) -> SftRecipe:
    """The recipe of such a training.

    Raises:
        NotFoundError: There is no such dataset.
    """
    get_dataset(settings.datasets_dir, wanted.dataset_key)
    values = _recipe_values(wanted)
    resolve_recipe(values)
    return SftRecipe(
        manifest_yaml=yaml.safe_dump(values, sort_keys=False, allow_unicode=True),
        dataset_key=wanted.dataset_key,
        model_id=wanted.model_id,
        message="Submit it to /api/tunix/runs as `recipe`, or save it and run: tunix-rt train FILE",
    )


def _recipe_values(wanted: SftManifest) -> dict[str, Any]:
    is_built_in = wanted.model_id in shipped_model_names()
    return {
        "model": {"name": wanted.model_id, **({"weights": "random"} if is_built_in else {})},
        "data": {"dataset": wanted.dataset_key, "row_length": wanted.max_seq_length},
        "training": {
            "num_epochs": float(wanted.num_epochs),
            "batch_size": wanted.batch_size,
            "learning_rate": wanted.learning_rate,
            "optimizer": {"name": "adamw", "weight_decay": wanted.weight_decay},
        },
    }
