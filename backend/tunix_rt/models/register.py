"""Register a run, a checkpoint or a directory: files first, database last."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
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
from tunix_rt.base.records import explain_problems
from tunix_rt.base.settings import RUN_RECIPE_FILE, Settings
from tunix_rt.engines.training.run_dir import RunDir, read_manifest
from tunix_rt.engines.training.types import RunEnvironment, RunManifest
from tunix_rt.models.files import ModelStore
from tunix_rt.models.store import ModelRepository
from tunix_rt.models.types import (
    BaseReference,
    ModelKind,
    ModelLineage,
    ModelName,
    ModelTree,
    ModelVersion,
    NewVersion,
    VersionAnnotations,
)
from tunix_rt.recipes.load import load_recipe
from tunix_rt.recipes.types import Recipe
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle


def run_models_command(settings: Settings, what: str, *arguments: str | Path) -> str:
    """Run `tunix-rt models …` to its end; what it printed.

    Raises:
        TunixRTError: It failed, for a reason of the kind that its exit code says.
    """
    database = {} if settings.database_url is None else {"TUNIX_RT_DATABASE_URL": settings.database_url}
    done = subprocess.run(
        [sys.executable, "-m", "tunix_rt.cli", "models", *map(str, arguments), "--json"],
        env=os.environ | {"TUNIX_RT_HOME": str(settings.home_dir)} | database,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode:
        raise child_error(what, done.returncode, done.stderr)
    return done.stdout


ADAPTER_CONFIG, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_INDEX = "model.safetensors.index.json"


@dataclass(frozen=True)
class Source:
    """Files to register, and what is known of them."""

    directory: Path
    kind: ModelKind
    lineage: ModelLineage = field(default_factory=ModelLineage)
    markup: MarkupStyle = DEFAULT_MARKUP
    hashes: Mapping[str, str] | None = None
    """SHA-256 by path, as the run's manifest has them. None: nobody has said what they must be."""

    def require_unchanged(self, tree: ModelTree) -> None:
        """Refuse files that are not those that the run wrote.

        Raises:
            DataError: Names the first that differs.
        """
        if self.hashes is None:
            return
        found = {file.path: file.sha256 for file in tree.files}
        for path in sorted(found.keys() | self.hashes.keys()):
            if found.get(path) != self.hashes.get(path):
                raise DataError(
                    f"{self.directory / path} is not what the run {self.lineage.run_id} wrote.",
                    next_step="Restore the run's files; or register the directory as it is, without the "
                    "run's name on it: tunix-rt models register NAME --directory DIR",
                )


def run_by_id(settings: Settings, run_id: str) -> RunDir:
    """The run with this id among those of the home directory; never a path.

    Raises:
        NotFoundError: There is none.
    """
    runs = {path.parent.name: path.parent for path in settings.runs_dir.glob(f"*/{RUN_RECIPE_FILE}")}
    if run_id not in runs:
        hint = did_you_mean(run_id, runs) if runs else "Train one first: tunix-rt train RECIPE"
        raise NotFoundError(f"There is no run {run_id!r}.", next_step=hint)
    return RunDir(runs[run_id])


def source_of_run(run_dir: RunDir) -> Source:
    """The model that a run exported at its end.

    Raises:
        ConflictError: The run did not succeed.
    """
    manifest = require_succeeded(run_dir)
    if not run_dir.model.is_dir():
        raise DataError(
            f"The run {run_dir.run_id} has no model/ directory.", next_step="Restore it from a backup."
        )
    prefix = f"{run_dir.model.name}/"
    hashes = {
        path.removeprefix(prefix): digest
        for path, digest in manifest.files.items()
        if path.startswith(prefix)
    }
    recipe = load_recipe(run_dir.recipe).recipe
    source = Source(run_dir.model, detect_kind(run_dir.model), hashes=hashes, markup=recipe.data.markup)
    return replace(source, lineage=lineage_of_run(run_dir, manifest, recipe, run_dir.model))


def source_of_directory(directory: Path) -> Source:
    """A model or an adapter that lies anywhere, in the layout of Hugging Face or PEFT."""
    kind = detect_kind(directory)
    base = adapter_base(directory) if kind == "adapter" else None
    return Source(directory, kind, lineage=ModelLineage(base=base))


def require_succeeded(run_dir: RunDir) -> RunManifest:
    """The manifest of a run that has a result.

    Raises:
        ConflictError: The run is not finished, or did not succeed.
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


def lineage_of_run(run_dir: RunDir, manifest: RunManifest, recipe: Recipe, model: Path) -> ModelLineage:
    """Where the weights in `model` come from."""
    environment = _environment(run_dir)
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
        base=_base_of_run(recipe, manifest, model),
        figures=manifest.figures,
        trained_at=manifest.finished_at,
    )


def detect_kind(directory: Path) -> ModelKind:
    """Whether a directory holds a model or an adapter.

    Raises:
        InvalidInputError: It holds neither, or not all of it.
    """
    if (directory / ADAPTER_CONFIG).is_file() and (directory / ADAPTER_WEIGHTS).is_file():
        return "adapter"
    missing = _missing_weights(directory)
    if (directory / "config.json").is_file() and not missing:
        return "model"
    what = f"lacks {missing[0]}" if missing else "is no model"
    raise InvalidInputError(
        f"{directory} {what}.",
        next_step="Name a directory with config.json and safetensors weights (Hugging Face), or with "
        f"{ADAPTER_CONFIG} and {ADAPTER_WEIGHTS} (PEFT).",
    )


def _missing_weights(directory: Path) -> list[str]:
    """The weight files that should be there and are not."""
    if (directory / _INDEX).is_file():
        names = set(_read_json(directory / _INDEX).get("weight_map", {}).values())
        return sorted(name for name in names if not (directory / str(name)).is_file())
    return [] if (directory / "model.safetensors").is_file() else ["model.safetensors"]


def adapter_base(directory: Path) -> BaseReference:
    """The model that an adapter says it belongs to."""
    config = _read_json(directory / ADAPTER_CONFIG)
    name, revision = config.get("base_model_name_or_path"), config.get("revision")
    if not isinstance(name, str) or not name:
        raise DataError(
            f"The {ADAPTER_CONFIG} of {directory} names no base model.",
            next_step="Write base_model_name_or_path into it, or register a merged model.",
        )
    return BaseReference(name=name, revision=revision if isinstance(revision, str) else None)


def _base_of_run(recipe: Recipe, manifest: RunManifest, model: Path) -> BaseReference:
    is_random = recipe.model.weights == "random"
    revision = recipe.model.revision
    if (model / ADAPTER_CONFIG).is_file():
        revision = adapter_base(model).revision or revision
    return BaseReference(
        name=recipe.model.name,
        revision=revision,
        weights=recipe.model.weights,
        seed=recipe.training.seed if is_random else None,
        drawn_by=manifest.engine if is_random else None,
    )


def _environment(run_dir: RunDir) -> RunEnvironment | None:
    path = run_dir.environment
    return RunEnvironment.model_validate_json(path.read_bytes()) if path.is_file() else None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}.", next_step="Save the model again.") from error
    return value if isinstance(value, dict) else {}


@contextmanager
def exported_checkpoint(settings: Settings, run_dir: RunDir, step: int) -> Iterator[Source]:
    """The weights after `step` steps, in a directory that is gone afterwards.

    Raises:
        NotFoundError: There is no checkpoint of the step.
        DataError: It is damaged.
    """
    manifest = require_succeeded(run_dir)
    _require_checkpoint(run_dir, step)
    recipe = load_recipe(run_dir.recipe).recipe
    files = ModelStore(settings.models_dir)
    # In the store: weights may be too large for the disk of temporary files.
    with files.shared_lock(), tempfile.TemporaryDirectory(dir=files.incoming) as work:
        directory = Path(work) / "model"
        run_models_command(
            settings, f"Exporting step {step}", "export-checkpoint", run_dir.path, str(step), directory
        )
        lineage = lineage_of_run(run_dir, manifest, recipe, directory)
        lineage = lineage.model_copy(update={"step": step, "is_checkpoint": True, "figures": None})
        yield Source(directory, detect_kind(directory), lineage=lineage, markup=recipe.data.markup)


def _require_checkpoint(run_dir: RunDir, step: int) -> None:
    """Refuse a step that has none without starting an engine."""
    kept = sorted(int(path.name) for path in run_dir.checkpoints.glob("*") if path.name.isdecimal())
    if step not in kept:
        raise NotFoundError(
            f"The run {run_dir.run_id} has no checkpoint of step {step}.",
            next_step=f"Its checkpoints: {', '.join(map(str, kept)) or 'none'}.",
        )


def find_parent(home: Home, lineage: ModelLineage) -> str | None:
    """The version whose checkout the training was given as its base model; None: it was none."""
    if lineage.base is None:
        return None
    checkouts = ModelStore(home.settings.models_dir).checkouts
    directory = Path(lineage.base.name)
    if directory.parent != checkouts:
        return None
    same = [
        version
        for version in ModelRepository(home.database).all_versions()
        if version.content_hash == directory.name
    ]
    return same[-1].reference if same else None


_NAME: TypeAdapter[str] = TypeAdapter(ModelName)


@dataclass(frozen=True)
class Registration:
    """The version, and whether it was not there before."""

    version: ModelVersion
    is_new: bool


def register_run(
    home: Home,
    name: str,
    run_id: str,
    *,
    step: int | None = None,
    annotations: VersionAnnotations | None = None,
) -> Registration:
    """Register the model of a run of the home directory, or one of its checkpoints.

    The same content under the same name is the version that is there.

    Raises:
        NotFoundError: There is no such run, or no checkpoint of the step.
        ConflictError: The run did not succeed; or another version has the label.
        DataError: The run's files are not what it wrote.
    """
    return register_run_dir(home, name, run_by_id(home.settings, run_id), step=step, annotations=annotations)


def register_run_dir(
    home: Home,
    name: str,
    run_dir: RunDir,
    *,
    step: int | None = None,
    annotations: VersionAnnotations | None = None,
) -> Registration:
    """The same for a run that lies anywhere."""
    validate_name(name)
    figures = require_succeeded(run_dir).figures
    if step is None or (figures is not None and figures.exported_step == step):
        return _register(home, name, source_of_run(run_dir), annotations)
    with exported_checkpoint(home.settings, run_dir, step) as source:
        return _register(home, name, source, annotations)


def register_directory(
    home: Home, name: str, directory: Path, *, annotations: VersionAnnotations | None = None
) -> Registration:
    """Register a model or an adapter that lies anywhere.

    Raises:
        InvalidInputError: The directory holds neither.
        ConflictError: Another version has the label.
    """
    validate_name(name)
    return _register(home, name, source_of_directory(directory), annotations)


def validate_name(name: str) -> str:
    """A name that a model may have, or an error before anything is read."""
    try:
        return _NAME.validate_python(name)
    except ValidationError as error:
        problems = explain_problems(error.errors(include_url=False), max_problems=1)
        raise InvalidInputError(
            f"A model cannot be called {name!r}: {problems}",
            next_step="Use up to 128 letters, digits, '.', '_' and '-', beginning with a letter or digit.",
        ) from error


def model_store(settings: Settings) -> ModelStore:
    """Where the weights are."""
    return ModelStore(settings.models_dir)


def parse_annotations(label: str | None, notes: str, tags: Mapping[str, str]) -> VersionAnnotations:
    """What was typed about a version, or an error that says what is wrong with it."""
    try:
        return VersionAnnotations(label=label, notes=notes, tags=dict(tags))
    except ValidationError as error:
        problems = explain_problems(error.errors(include_url=False), max_problems=3)
        raise InvalidInputError(
            f"The version cannot be described like this: {problems}",
            next_step="Correct the label, the notes or the tags.",
        ) from error


def _register(home: Home, name: str, source: Source, annotations: VersionAnnotations | None) -> Registration:
    files = model_store(home.settings)
    parent = find_parent(home, source.lineage)
    with files.shared_lock():
        tree = files.add(source.directory)
        source.require_unchanged(tree)
        new = NewVersion(
            kind=source.kind,
            content_hash=tree.content_hash,
            size_bytes=tree.size_bytes,
            num_files=len(tree.files),
            markup=source.markup,
            lineage=source.lineage.model_copy(update={"parent": parent}),
            **(annotations or VersionAnnotations()).model_dump(),
        )
        version, is_new = ModelRepository(home.database).add_version(name, new)
    return Registration(version, is_new)
