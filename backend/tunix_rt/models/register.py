"""Register the model of a run, a checkpoint or a directory. The files are stored first, the database last."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tunix_rt.base.errors import (
    ConflictError,
    DataError,
    InvalidInputError,
    NotFoundError,
    child_error,
    did_you_mean,
)
from tunix_rt.base.home import Home
from tunix_rt.base.records import explain_validation_error
from tunix_rt.base.settings import RUN_RECIPE_FILE, Settings
from tunix_rt.engines.training.run_dir import RunDir, find_run_dir, read_manifest
from tunix_rt.engines.training.types import RunEnvironment, RunManifest
from tunix_rt.models.files import ModelStore
from tunix_rt.models.store import ModelRepository
from tunix_rt.models.types import (
    BaseReference,
    ModelKind,
    ModelLineage,
    ModelName,
    ModelVersion,
    NewVersion,
    VersionAnnotations,
)
from tunix_rt.recipes.load import load_recipe
from tunix_rt.recipes.types import Recipe
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle

ADAPTER_CONFIG, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_INDEX = "model.safetensors.index.json"


@dataclass(frozen=True)
class Registration:
    """A version, and whether this registration created it."""

    version: ModelVersion
    is_new: bool


def register_run(
    home: Home,
    name: str,
    run: str | RunDir,
    *,
    step: int | None = None,
    annotations: VersionAnnotations | None = None,
) -> Registration:
    """Register the model of a run in the home directory, by its id, or of any run; or one of its checkpoints.

    Registering the same content under the same name again returns the existing version.

    Raises:
        NotFoundError: There is no such run, or no checkpoint at this step.
        ConflictError: The run did not succeed, or another version has the label.
        DataError: The run's files were changed after the run.
    """
    run_dir = run if isinstance(run, RunDir) else run_by_id(home.settings, run)
    validate_name(name)
    manifest = require_succeeded(run_dir)
    recipe = load_recipe(run_dir.recipe).recipe
    if step is None or (manifest.figures is not None and manifest.figures.exported_step == step):
        return _register(home, name, _source_of_run(run_dir, manifest, recipe), annotations)
    with _exported_checkpoint(home.settings, run_dir, manifest, recipe, step) as source:
        return _register(home, name, source, annotations)


def register_directory(
    home: Home, name: str, directory: Path, *, annotations: VersionAnnotations | None = None
) -> Registration:
    """Register a model or an adapter from any directory, in the layout of Hugging Face or PEFT.

    Raises:
        InvalidInputError: The directory contains neither.
        ConflictError: Another version has the label.
    """
    validate_name(name)
    kind = detect_kind(directory)
    base = adapter_base(directory) if kind == "adapter" else None
    return _register(home, name, _Source(directory, kind, ModelLineage(base=base)), annotations)


@dataclass(frozen=True)
class _Source:
    """Files to register, and what is known about them."""

    directory: Path
    kind: ModelKind
    lineage: ModelLineage
    markup: MarkupStyle = DEFAULT_MARKUP
    hashes: Mapping[str, str] | None = None
    """SHA-256 by path, as recorded in the run's manifest. None: nothing was recorded."""


def _register(home: Home, name: str, source: _Source, annotations: VersionAnnotations | None) -> Registration:
    files, models = ModelStore(home.settings.models_dir), ModelRepository(home.database)
    parent = None
    if source.lineage.base is not None:
        # Training started from a registered version if it started from its checkout.
        directory = Path(source.lineage.base.name)
        if directory.parent == files.checkouts:
            same = [one.reference for one in models.all_versions() if one.content_hash == directory.name]
            parent = same[-1] if same else None
    with files.shared_lock():
        tree = files.add(source.directory)
        found = {file.path: file.sha256 for file in tree.files}
        recorded = found if source.hashes is None else source.hashes
        for path in sorted(found.keys() | recorded.keys()):
            if found.get(path) != recorded.get(path):
                raise DataError(
                    f"{source.directory / path} is not what the run {source.lineage.run_id} wrote.",
                    next_step="Restore the run's files, or register the directory without the run's lineage: "
                    "tunix-rt models register NAME --directory DIR",
                )
        new = NewVersion(
            kind=source.kind,
            content_hash=tree.content_hash,
            size_bytes=tree.size_bytes,
            num_files=len(tree.files),
            markup=source.markup,
            lineage=source.lineage.model_copy(update={"parent": parent}),
            **(annotations or VersionAnnotations()).model_dump(),
        )
        version, is_new = models.add_version(name, new)
    return Registration(version, is_new)


def run_by_id(settings: Settings, run_id: str) -> RunDir:
    """A run in the home directory by its id, the start of it or its last word; paths are refused.

    Raises:
        NotFoundError: There is none with this id.
    """
    run_dir = find_run_dir(settings.runs_dir, run_id)
    if run_dir is None:
        known = [path.parent.name for path in settings.runs_dir.glob(f"*/{RUN_RECIPE_FILE}")]
        hint = did_you_mean(run_id, known) if known else "Train one first: tunix-rt train RECIPE"
        raise NotFoundError(f"There is no run {run_id!r}.", next_step=hint)
    return run_dir


def run_by_id_or_path(settings: Settings, run: str) -> RunDir:
    """A run in the home directory by its id, or any run by its path.

    Raises:
        NotFoundError: There is no such run.
    """
    run_dir = RunDir(Path(run).absolute())
    return run_dir if run_dir.recipe.is_file() else run_by_id(settings, run)


def require_succeeded(run_dir: RunDir) -> RunManifest:
    """The manifest of a run that succeeded.

    Raises:
        ConflictError: The run is not finished or did not succeed.
    """
    manifest = read_manifest(run_dir)
    if manifest is None or manifest.status != "succeeded":
        status = "is not finished" if manifest is None else f"has {manifest.status}"
        if manifest is not None and manifest.status == "cancelled":
            status = "was cancelled"
        raise ConflictError(
            f"The run {run_dir.run_id} {status}: only a run that succeeded can be registered.",
            next_step=f"Finish it first: tunix-rt train RECIPE --output {run_dir.path} --resume",
        )
    return manifest


def _source_of_run(run_dir: RunDir, manifest: RunManifest, recipe: Recipe) -> _Source:
    """The model that a run exported at its end."""
    if not run_dir.model.is_dir():
        raise DataError(
            f"The run {run_dir.run_id} has no model/ directory.", next_step="Restore it from a backup."
        )
    prefix, files = f"{run_dir.model.name}/", manifest.files
    hashes = {path.removeprefix(prefix): files[path] for path in files if path.startswith(prefix)}
    lineage = _lineage_of_run(run_dir, manifest, recipe, run_dir.model)
    return _Source(run_dir.model, detect_kind(run_dir.model), lineage, recipe.data.markup, hashes)


@contextmanager
def _exported_checkpoint(
    settings: Settings, run_dir: RunDir, manifest: RunManifest, recipe: Recipe, step: int
) -> Iterator[_Source]:
    """Export a checkpoint to a temporary directory, in a child process because this one loads no engine.

    Raises:
        NotFoundError: There is no checkpoint at this step.
        DataError: It is damaged.
    """
    steps = sorted(int(path.name) for path in run_dir.checkpoints.glob("*") if path.name.isdecimal())
    if step not in steps:
        raise NotFoundError(
            f"The run {run_dir.run_id} has no checkpoint of step {step}.",
            next_step=f"Its checkpoints: {', '.join(map(str, steps)) or 'none'}.",
        )
    environment = os.environ | {"TUNIX_RT_HOME": str(settings.home_dir)}
    if settings.database_url is not None:
        environment["TUNIX_RT_DATABASE_URL"] = settings.database_url
    files = ModelStore(settings.models_dir)
    # In the store: the weights may be too large for the disk of temporary files.
    with files.shared_lock(), tempfile.TemporaryDirectory(dir=files.incoming) as work:
        directory = Path(work) / "model"
        arguments = ["models", "export-checkpoint", str(run_dir.path), str(step), str(directory), "--json"]
        done = subprocess.run(
            [sys.executable, "-m", "tunix_rt.cli", *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        if done.returncode:
            raise child_error(f"Exporting step {step}", done.returncode, done.stderr)
        lineage = _lineage_of_run(run_dir, manifest, recipe, directory)
        lineage = lineage.model_copy(update={"step": step, "is_checkpoint": True, "figures": None})
        yield _Source(directory, detect_kind(directory), lineage, recipe.data.markup)


def _lineage_of_run(run_dir: RunDir, manifest: RunManifest, recipe: Recipe, model: Path) -> ModelLineage:
    """The lineage of the weights in `model`."""
    path = run_dir.environment
    environment = RunEnvironment.model_validate_json(path.read_bytes()) if path.is_file() else None
    is_random = recipe.model.weights == "random"
    revision = recipe.model.revision
    if (model / ADAPTER_CONFIG).is_file():
        revision = adapter_base(model).revision or revision
    return ModelLineage(
        run_id=run_dir.run_id,
        step=None if manifest.figures is None else manifest.figures.exported_step,
        recipe=manifest.recipe,
        mode=manifest.mode,
        engine=manifest.engine,
        tunix_rt_version=manifest.tunix_rt_version,
        commit=None if environment is None else environment.commit,
        is_dirty=None if environment is None else environment.is_dirty,
        dataset=manifest.dataset,
        dataset_hash=manifest.dataset_hash,
        base=BaseReference(
            name=recipe.model.name,
            revision=revision,
            weights=recipe.model.weights,
            seed=recipe.training.seed if is_random else None,
            drawn_by=manifest.engine if is_random else None,
        ),
        figures=manifest.figures,
        trained_at=manifest.finished_at,
    )


def detect_kind(directory: Path) -> ModelKind:
    """Whether a directory contains a model or an adapter.

    Raises:
        InvalidInputError: It contains neither, or files are missing.
    """
    if (directory / ADAPTER_CONFIG).is_file() and (directory / ADAPTER_WEIGHTS).is_file():
        return "adapter"
    weights = {"model.safetensors"}
    if (directory / _INDEX).is_file():
        weights = set(map(str, _read_json(directory / _INDEX).get("weight_map", {}).values()))
    missing = sorted(name for name in weights if not (directory / name).is_file())
    if (directory / "config.json").is_file() and not missing:
        return "model"
    what = f"lacks {missing[0]}" if missing else "is not a model"
    raise InvalidInputError(
        f"{directory} {what}.",
        next_step="Name a directory with config.json and safetensors weights (Hugging Face), or with "
        f"{ADAPTER_CONFIG} and {ADAPTER_WEIGHTS} (PEFT).",
    )


def adapter_base(directory: Path) -> BaseReference:
    """The base model that an adapter's configuration names.

    Raises:
        DataError: It names none, or cannot be read.
    """
    config = _read_json(directory / ADAPTER_CONFIG)
    name, revision = config.get("base_model_name_or_path"), config.get("revision")
    if not isinstance(name, str) or not name:
        raise DataError(
            f"The {ADAPTER_CONFIG} of {directory} names no base model.",
            next_step="Add base_model_name_or_path to it, or use a merged model.",
        )
    return BaseReference(name=name, revision=revision if isinstance(revision, str) else None)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}.", next_step="Save the model again.") from error
    return value if isinstance(value, dict) else {}


def validate_name(name: str) -> None:
    """Refuse an invalid model name before any file is read."""
    try:
        TypeAdapter(ModelName).validate_python(name)
    except ValidationError as error:
        problems = explain_validation_error(error)
        raise InvalidInputError(
            f"A model cannot be called {name!r}: {problems}",
            next_step="Use up to 128 letters, digits, '.', '_' and '-', starting with a letter or digit.",
        ) from error


def parse_annotations(label: str | None, notes: str, tags: Mapping[str, str]) -> VersionAnnotations:
    """Validate the label, notes and tags of a version."""
    try:
        return VersionAnnotations(label=label, notes=notes, tags=dict(tags))
    except ValidationError as error:
        problems = explain_validation_error(error)
        raise InvalidInputError(
            f"The label, notes or tags are invalid: {problems}",
            next_step="Correct the label, the notes or the tags.",
        ) from error
