"""Training rows of a dataset or a file; the directory of a new run."""

import json
import re
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

from tunix_rt.base.errors import DataError, InvalidInputError
from tunix_rt.base.files.jsonl import BadRow, BlankLine
from tunix_rt.base.files.readers import open_rows
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.files import file_sha256
from tunix_rt.datasets.service import chosen_split, get_dataset, iter_rows
from tunix_rt.engines.training.job import Rows, TrainingData
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.types import EngineName
from tunix_rt.recipes.load import Flag
from tunix_rt.recipes.types import Recipe
from tunix_rt.traces.formats.registry import RowOptions, detect_format, read_row
from tunix_rt.traces.formats.solutions import RowError
from tunix_rt.traces.types import StoredTrace, canonical_json, trace_id

_NOT_IN_A_NAME = re.compile(r"[^a-z0-9]+")


def smoke_flags(recipe: Recipe, num_steps: int, *, reason: str) -> dict[str, Flag]:
    """The overrides that end a recipe after a few steps; the warm-up is never longer than the run."""
    training = recipe.training
    capped = min(num_steps, training.num_steps or num_steps)
    flags: dict[str, Flag] = {"training.num_steps": Flag(capped, reason)}
    if training.num_epochs is not None:
        flags["training.num_epochs"] = Flag(None, reason)
    if training.warmup_steps > capped:
        flags["training.warmup_steps"] = Flag(capped, reason)
    return flags


def dataset_rows(settings: Settings, recipe: Recipe) -> TrainingData:
    """The splits of the recipe's dataset that it trains and validates on.

    Raises:
        InvalidInputError: The recipe names no dataset.
        NotFoundError: There is no such dataset or split.
    """
    key = recipe.data.dataset
    if key is None:
        raise InvalidInputError(
            "The recipe names no dataset.",
            next_step="Add --dataset KEY; `tunix-rt data list` shows the keys.",
        )
    manifest = get_dataset(settings.datasets_dir, key)

    def rows_of(split: str) -> Rows:
        name = chosen_split(manifest, split).name
        return Rows(name, lambda: iter_rows(settings.datasets_dir, key, name))

    return TrainingData(
        name=key,
        content_hash=manifest.content_hash,
        train=rows_of(recipe.data.split),
        validation=None if recipe.eval.every_steps is None else rows_of(recipe.eval.split),
    )


def file_rows(path: Path, recipe: Recipe) -> TrainingData:
    """All rows of a file, as training data.

    Raises:
        InvalidInputError: There is no such file, or the recipe validates and a file has no splits.
    """
    if not path.is_file():
        raise InvalidInputError(f"There is no file {path}.", next_step="Check the path after --data.")
    if recipe.eval.every_steps is not None:
        raise InvalidInputError(
            f"The recipe validates on the split {recipe.eval.split!r}; the file {path.name} has no splits.",
            next_step="Build a dataset with tunix-rt data ingest and use --dataset, "
            "or set eval.every_steps to null.",
        )
    return TrainingData(
        name=path.name,
        content_hash=file_sha256(path.resolve()),
        train=Rows("file", lambda: _traces_of(path)),
        validation=None,
    )


def new_run_dir(settings: Settings, recipe_path: Path, output: Path | None) -> RunDir:
    """The directory of a run: the requested one, or a new one in the runs directory.

    Example:
        training/configs/demo.yaml -> runs/20250131-142907-demo-3f2a
    """
    if output is not None:
        return RunDir(output.absolute())
    name = _NOT_IN_A_NAME.sub("-", recipe_path.name.lower().split(".")[0]).strip("-") or "run"
    run_id = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{name}-{secrets.token_hex(2)}"
    return RunDir(settings.runs_dir / run_id)


def engine_of_run(run_dir: RunDir) -> EngineName | None:
    """The engine that a run was started with; None when there is no run."""
    try:
        environment = json.loads(run_dir.environment.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    name = environment.get("engine") if isinstance(environment, dict) else None
    return next((engine for engine in get_args(EngineName) if engine == name), None)


def _traces_of(path: Path) -> Iterator[StoredTrace]:
    read_at = datetime.now(UTC)
    with open_rows(path) as stream:
        for row in stream.rows:
            if isinstance(row, BlankLine):
                continue
            try:
                if isinstance(row, BadRow):
                    raise RowError(row.reason)
                canonical = canonical_json(read_row(row.values, RowOptions(detect_format(row.values))))
            except RowError as error:
                raise DataError(
                    f"{path.name}, line {row.number}: {error}",
                    next_step="Correct the line; `tunix-rt traces lint` lists every invalid one.",
                ) from error
            yield StoredTrace(id=trace_id(canonical), created_at=read_at, canonical=canonical)
