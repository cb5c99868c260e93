"""A model by any name: registered, run, directory, adapter, hub id, built in."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from tunix_rt.base.assets import shipped_model_names
from tunix_rt.base.errors import ConflictError, DataError, InvalidInputError, NotFoundError, did_you_mean
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.hub import is_hub_id
from tunix_rt.base.settings import Settings
from tunix_rt.engines.training.run_dir import RunDir, read_manifest
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.engines.weights.sources import (
    KAGGLE_PREFIX,
    ModelSource,
    OnFraction,
    resolve_model,
    tokenizer_source,
    weights_hash,
)
from tunix_rt.models.register import model_store
from tunix_rt.models.store import ModelRepository
from tunix_rt.models.types import (
    EvaluatedModel,
    ModelDetail,
    ModelOrigin,
    ModelReference,
    ModelVersion,
    RegisteredModel,
    is_reference,
    parse_reference,
)
from tunix_rt.recipes.load import ResolvedRecipe, load_recipe
from tunix_rt.recipes.types import ModelSection, Override
from tunix_rt.tokenization.chat_template import ChatTemplate, choose_template
from tunix_rt.tokenization.tokenizer import load_tokenizer
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle


def directory_of(settings: Settings, version: ModelVersion) -> Path:
    """The version's files, every byte checked; for an adapter, the adapter's. Never write into it.

    Raises:
        DataError: A file is missing or is not what was registered; it is named.
    """
    return model_store(settings).checkout(version.content_hash)


def resolve(home: Home, text: str) -> ModelVersion:
    """The version that `name` (the newest), `name@alias`, `name:version` or `name:label` means.

    Raises:
        InvalidInputError: No registered model can be called that.
        NotFoundError: There is none.
    """
    return ModelRepository(home.database).find(parse_reference(text))


def pinned_reference(version: ModelVersion) -> ModelReference:
    """The reference that always means this version."""
    return ModelReference(version.model, version=version.version)


def model_detail(home: Home, name: str) -> ModelDetail:
    """A model by name, with its versions, or NotFoundError."""
    return ModelDetail(
        **dict(ModelRepository(home.database).get(name)),
        versions=ModelRepository(home.database).versions(name),
    )


def get_model_by_name_or_id(home: Home, name_or_id: str) -> RegisteredModel:
    """A model by its name or its id, or NotFoundError."""
    try:
        return ModelRepository(home.database).get(UUID(name_or_id))
    except ValueError:
        return ModelRepository(home.database).get(name_or_id)


@dataclass(frozen=True)
class LoadableVersion:
    """A version whose files are at hand and checked."""

    version: ModelVersion
    section: ModelSection
    adapter: Path | None = None
    seed: int = 0
    drawn_by: str | None = None


def find_registered(settings: Settings, name: str) -> LoadableVersion | None:
    """The registered version of this name; None: it names no registered model.

    Raises:
        NotFoundError: It names an alias or a version that is not there.
        DataError: Its files are damaged.
    """
    # A bare name may mean anything; the database is only asked where something was ever registered.
    if not is_reference(name) and not settings.models_dir.is_dir():
        return None
    home = open_home(settings)
    try:
        if not is_reference(name) and name not in ModelRepository(home.database).names():
            return None
        return loadable(home, resolve(home, name))
    finally:
        home.close()


def loadable(home: Home, version: ModelVersion) -> LoadableVersion:
    """The files of a version, and of what it needs."""
    directory = directory_of(home.settings, version)
    if version.kind == "model":
        return LoadableVersion(version, ModelSection(name=str(directory)))
    base = version.lineage.base
    if base is None:
        raise DataError(
            f"The adapter {version.reference} does not say what it belongs to.",
            next_step="Register it again: the run or the adapter_config.json names its base model.",
        )
    name, parent = base.name, version.lineage.parent
    if parent is not None:
        name = str(directory_of(home.settings, ModelRepository(home.database).find(parse_reference(parent))))
    section = ModelSection(
        name=name,
        revision=base.revision,
        weights=base.weights,
        tokenizer=str(directory) if (directory / "tokenizer.json").is_file() else None,
    )
    return LoadableVersion(version, section, directory, seed=base.seed or 0, drawn_by=base.drawn_by)


_ADAPTER_CONFIG = "adapter_config.json"

Weights = Literal["pretrained", "random"]


@dataclass(frozen=True)
class ModelToEvaluate:
    """A model that was found, and how it was trained to be asked."""

    section: ModelSection
    model: EvaluatedModel
    adapter: Path | None = None
    """Directory in PEFT's layout, on top of the model."""
    seed: int = 0
    """Of random weights."""
    markup: MarkupStyle = DEFAULT_MARKUP
    run_dir: RunDir | None = None
    drawn_by: str | None = None
    """The engine that drew the random weights under the adapter: no other draws the same."""

    def require_engine(self, name: str) -> None:
        """Refuse an engine that would put the adapter on other weights than it was trained on.

        Raises:
            ConflictError: Another engine drew them.
        """
        if self.drawn_by not in (None, name):
            raise ConflictError(
                f"{self.model.name} is an adapter on random weights that the {self.drawn_by} engine drew; "
                f"the {name} engine draws others.",
                next_step=f"Add --engine {self.drawn_by}.",
            )

    def template(self, source: ModelSource, requested: str | None) -> ChatTemplate:
        """The chat template that it is asked with: the built-in one that is named, else its own."""
        return choose_template(load_tokenizer(tokenizer_source(self.section, source)), requested)

    def identify(self, source: ModelSource, on_fraction: OnFraction) -> EvaluatedModel:
        """The record of the model, with the commit and the hash of its weights."""
        is_random = self.section.weights == "random"
        directories = {} if is_random or source.directory is None else {"model": source.directory}
        if self.adapter is not None:
            directories["adapter"] = self.adapter
        digest = weights_hash(directories, on_fraction)
        return self.model.model_copy(update={"revision": source.revision, "weights_hash": digest})

    def source(self) -> ModelSource:
        """The model itself; its files are downloaded where they are missing."""
        return resolve_model(self.section)


def find_model(
    settings: Settings,
    name: str,
    *,
    weights: Weights = "pretrained",
    seed: int = 0,
    revision: str | None = None,
) -> ModelToEvaluate:
    """The model of this name.

    Args:
        settings: where the runs are.
        name: id or directory of a run, directory of a model or an adapter, a built-in model, a registered
            one (`name`, `name@alias`, `name:version`), a `kaggle:` handle or a hub id.
        weights: `random` for a model as training from random weights finds it.
        seed: of random weights.
        revision: branch, tag or commit of a hub id.

    Raises:
        NotFoundError: Nothing has this name.
        ConflictError: The run has no model.
        DataError: The files of the registered model are damaged.
    """
    run_dir = _run_dir(settings, name)
    if run_dir is not None:
        _refuse_random(weights, f"The run {run_dir.run_id}")
        return _of_run(run_dir)
    if (Path(name) / _ADAPTER_CONFIG).is_file():
        return _of_adapter(Path(name), weights=weights, seed=seed)
    if _may_be_registered(name) and (found := find_registered(settings, name)) is not None:
        _refuse_random(weights, f"The registered model {found.version.reference}")
        return _of_version(found)
    origin = _origin(settings, name)
    section = ModelSection(name=name, revision=revision, weights=weights)
    if origin == "built-in" and weights == "pretrained":
        raise InvalidInputError(
            f"The built-in model {name} has no trained weights.",
            next_step="Add --weights random to evaluate it as training finds it.",
        )
    shown = Path(name).resolve().name if origin == "directory" else name
    return ModelToEvaluate(section, _record(shown, origin, section, seed), seed=seed)


def _run_dir(settings: Settings, name: str) -> RunDir | None:
    """The run of this name, of this directory, or whose `model/` this is."""
    path = Path(name)
    candidates = [path, path.parent] if path.name == "model" else [path]
    if path.name == name:
        candidates.append(settings.runs_dir / name)
    runs = [RunDir(candidate.absolute()) for candidate in candidates]
    return next((run for run in runs if run.recipe.is_file()), None)


def _of_run(run_dir: RunDir) -> ModelToEvaluate:
    manifest = _complete_run(run_dir)
    recipe = load_recipe(run_dir.recipe).recipe
    model = EvaluatedModel(
        name=run_dir.run_id,
        origin="run",
        run_id=run_dir.run_id,
        base_model=recipe.model.name,
        dataset=manifest.dataset,
        dataset_hash=manifest.dataset_hash,
        recipe=manifest.recipe,
    )
    found = ModelToEvaluate(
        # Whatever it started from, these are weights that were trained, with the tokenizer they were with.
        ModelSection(name=str(run_dir.model)),
        model,
        markup=recipe.data.markup,
        run_dir=run_dir,
    )
    if not (run_dir.model / _ADAPTER_CONFIG).is_file():
        return found
    return replace(
        found,
        section=recipe.model.model_copy(update={"tokenizer": str(run_dir.model)}),
        model=model.model_copy(update={"is_adapter": True}),
        adapter=run_dir.model,
        seed=recipe.training.seed,
        drawn_by=manifest.engine if recipe.model.weights == "random" else None,
    )


def _complete_run(run_dir: RunDir) -> RunManifest:
    manifest = read_manifest(run_dir)
    status = "is not finished" if manifest is None else manifest.status
    if manifest is None or status != "succeeded" or not run_dir.model.is_dir():
        raise ConflictError(
            f"The run {run_dir.run_id} has no model to evaluate: {status}.",
            next_step=f"Finish it: tunix-rt train RECIPE --output {run_dir.path} --resume",
        )
    return manifest


def _may_be_registered(name: str) -> bool:
    is_other = name in shipped_model_names() or name.startswith(KAGGLE_PREFIX) or Path(name).is_dir()
    return not is_other and not is_hub_id(name)


def _of_version(found: LoadableVersion) -> ModelToEvaluate:
    version, lineage = found.version, found.version.lineage
    model = EvaluatedModel(
        name=version.reference,
        origin="registry",
        # Another step of the run has other weights: what is said of these is not said of the run.
        run_id=None if lineage.is_checkpoint else lineage.run_id,
        base_model=None if lineage.base is None else lineage.base.name,
        dataset=lineage.dataset,
        dataset_hash=lineage.dataset_hash,
        recipe=lineage.recipe,
        is_adapter=version.kind == "adapter",
    )
    return ModelToEvaluate(
        found.section,
        model,
        adapter=found.adapter,
        seed=found.seed,
        markup=version.markup,
        drawn_by=found.drawn_by,
    )


def _of_adapter(directory: Path, *, weights: Weights, seed: int) -> ModelToEvaluate:
    config = _adapter_config(directory / _ADAPTER_CONFIG)
    base, revision = config.get("base_model_name_or_path"), config.get("revision")
    if not isinstance(base, str) or not base:
        raise DataError(
            f"The {_ADAPTER_CONFIG} of {directory} names no base model.",
            next_step="Write base_model_name_or_path into it, or evaluate a merged model.",
        )
    has_tokenizer = (directory / "tokenizer.json").is_file()
    section = ModelSection(
        name=base,
        revision=revision if is_hub_id(base) and not Path(base).is_dir() else None,
        weights=weights,
        tokenizer=str(directory) if has_tokenizer else None,
    )
    record = _record(directory.resolve().name, "directory", section, seed)
    record = record.model_copy(update={"is_adapter": True, "base_model": base})
    return ModelToEvaluate(section, record, adapter=directory.absolute(), seed=seed)


def _adapter_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}.", next_step="Save the adapter again.") from error
    return config if isinstance(config, dict) else {}


def _origin(settings: Settings, name: str) -> ModelOrigin:
    if name in shipped_model_names():
        return "built-in"
    if name.startswith(KAGGLE_PREFIX):
        return "kaggle"
    if Path(name).is_dir():
        return "directory"
    if is_hub_id(name):
        return "hub"
    runs = [path.parent.name for path in settings.runs_dir.glob("*/recipe.resolved.json")]
    raise NotFoundError(
        f"There is no model {name!r}: it is no run, no directory, no hub id, no registered or built-in one.",
        next_step=did_you_mean(name, [*runs, *shipped_model_names()]),
    )


def _record(name: str, origin: ModelOrigin, section: ModelSection, seed: int) -> EvaluatedModel:
    is_random = section.weights == "random"
    return EvaluatedModel(name=name, origin=origin, weights=section.weights, seed=seed if is_random else None)


def _refuse_random(weights: Weights, what: str) -> None:
    if weights == "random":
        raise InvalidInputError(
            f"{what} has trained weights; --weights random contradicts it.",
            next_step="Leave --weights out, or name the model that the run started from.",
        )


def with_registered_model(settings: Settings, resolved: ResolvedRecipe) -> ResolvedRecipe:
    """The recipe with the version's directory in place of `name@alias` or `name:version`, as an override.

    A recipe whose model is anything else comes back as it is.

    Raises:
        NotFoundError: There is no such model, alias or version.
        InvalidInputError: It is an adapter.
        DataError: Its files are damaged.
    """
    name = resolved.recipe.model.name
    found = None if not _is_registered(name) else find_registered(settings, name)
    if found is None:
        return resolved
    version = found.version
    if version.kind == "adapter":
        raise InvalidInputError(
            f"{version.reference} is an adapter; a training starts from a whole model.",
            next_step=f"Merge it first: tunix-rt models export {version.reference} --as merged --output DIR, "
            "then tunix-rt models register NAME --directory DIR",
        )
    pinned = Override(
        key="model.name",
        recipe_value=name,
        used_value=found.section.name,
        reason=f"{name} is {version.reference}, content {version.content_hash[:12]}",
    )
    model = resolved.recipe.model.model_copy(update={"name": found.section.name})
    recipe = resolved.recipe.model_copy(update={"model": model})
    return ResolvedRecipe(recipe=recipe, overrides=(*resolved.overrides, pinned))


def _is_registered(name: str) -> bool:
    return is_reference(name) and not name.startswith(KAGGLE_PREFIX)
