"""What can be registered: the model of a finished run, a checkpoint of it, or a directory."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tunix_rt.base.errors import ConflictError, DataError, InvalidInputError, NotFoundError, did_you_mean
from tunix_rt.base.settings import RUN_RECIPE_FILE, Settings
from tunix_rt.core.models.tree import ModelTree
from tunix_rt.core.models.version import BaseReference, ModelKind, ModelLineage
from tunix_rt.engines.training.run_dir import RunDir, read_manifest
from tunix_rt.engines.training.types import RunEnvironment, RunManifest
from tunix_rt.recipes.load import load_recipe
from tunix_rt.recipes.types import Recipe
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle

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


def run_of_id(settings: Settings, run_id: str) -> RunDir:
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
    manifest = succeeded(run_dir)
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
    source = Source(run_dir.model, kind_of(run_dir.model), hashes=hashes, markup=recipe.data.markup)
    return replace(source, lineage=lineage_of_run(run_dir, manifest, recipe, run_dir.model))


def source_of_directory(directory: Path) -> Source:
    """A model or an adapter that lies anywhere, in the layout of Hugging Face or PEFT."""
    kind = kind_of(directory)
    base = base_of_adapter(directory) if kind == "adapter" else None
    return Source(directory, kind, lineage=ModelLineage(base=base))


def succeeded(run_dir: RunDir) -> RunManifest:
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


def kind_of(directory: Path) -> ModelKind:
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


def base_of_adapter(directory: Path) -> BaseReference:
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
        revision = base_of_adapter(model).revision or revision
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
