"""Find a model by name: a run, a registered or built-in model, a directory, an adapter or a hub id."""

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tunix_rt.base.assets import shipped_model_names
from tunix_rt.base.errors import ConflictError, DataError, InvalidInputError, NotFoundError, did_you_mean
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.hub import absolute_if_directory, is_hub_id
from tunix_rt.base.settings import RUN_RECIPE_FILE, Settings
from tunix_rt.engines.training.run_dir import RunDir, find_run_dir, read_manifest
from tunix_rt.engines.weights.sources import (
    KAGGLE_PREFIX,
    ModelSource,
    OnFraction,
    resolve_model,
    tokenizer_source,
    weights_digest,
)
from tunix_rt.models.files import ModelStore
from tunix_rt.models.register import ADAPTER_CONFIG, adapter_base
from tunix_rt.models.store import ModelRepository
from tunix_rt.models.types import (
    EvaluatedModel,
    ModelDetail,
    ModelOrigin,
    ModelVersion,
    is_reference,
    parse_reference,
)
from tunix_rt.recipes.load import ResolvedRecipe, load_recipe
from tunix_rt.recipes.types import ModelSection, Override, Recipe
from tunix_rt.tokenization.chat_template import ChatTemplate, choose_template
from tunix_rt.tokenization.tokenizer import load_tokenizer
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle

Weights = Literal["pretrained", "random"]


@dataclass(frozen=True)
class ModelToEvaluate:
    """A model, and how it was trained to be prompted."""

    section: ModelSection
    model: EvaluatedModel
    adapter: Path | None = None
    """Directory of an adapter in PEFT's layout, applied to the model."""
    seed: int = 0
    """Seed of random weights."""
    markup: MarkupStyle = DEFAULT_MARKUP
    run_dir: RunDir | None = None
    drawn_by: str | None = None
    """The engine that initialized the random weights under the adapter; other engines give other weights."""

    def require_engine(self, name: str) -> None:
        """Refuse an engine that would apply the adapter to other weights than it was trained on.

        Raises:
            ConflictError: Another engine initialized the weights.
        """
        if self.drawn_by not in (None, name):
            raise ConflictError(
                f"{self.model.name} is an adapter on random weights that the {self.drawn_by} engine "
                f"initialized; the {name} engine would initialize others.",
                next_step=f"Add --engine {self.drawn_by}.",
            )

    def template(self, source: ModelSource, requested: str | None) -> ChatTemplate:
        """The requested built-in chat template, or else the model's own."""
        return choose_template(load_tokenizer(tokenizer_source(self.section, source)), requested)

    def identify(self, source: ModelSource, on_fraction: OnFraction) -> EvaluatedModel:
        """The record of the model with the hub commit and the hash of its weights."""
        is_random = self.section.weights == "random"
        directories = {} if is_random or source.directory is None else {"model": source.directory}
        if self.adapter is not None:
            directories["adapter"] = self.adapter
        digest = weights_digest(directories, on_fraction)
        known = {} if digest is None else {"weights_hash": digest.total, "weight_files": digest.files}
        return self.model.model_copy(update={"revision": source.revision, **known})

    def source(self) -> ModelSource:
        """The files of the model; missing ones are downloaded."""
        return resolve_model(self.section)


def find_model(
    settings: Settings,
    name: str,
    *,
    weights: Weights = "pretrained",
    seed: int = 0,
    revision: str | None = None,
) -> ModelToEvaluate:
    """Find the model that a name refers to.

    Args:
        settings: where the runs and the registry are.
        name: id (or its start or last word) or directory of a run, directory of a model or an adapter, a
            built-in model, a registered one (`name`, `name@alias`, `name:version`), a `kaggle:` handle or a
            hub id.
        weights: `random` for the model before training from random weights.
        seed: seed of random weights.
        revision: branch, tag or commit of a hub id.

    Raises:
        NotFoundError: Nothing has this name.
        ConflictError: The run has no model.
        DataError: The files of the registered model are damaged.
    """
    run_dir = _run_dir(settings, name)
    if run_dir is not None:
        _refuse_random(weights, f"The run {run_dir.run_id}")
        return _from_run(run_dir)
    path = Path(name)
    if (path / ADAPTER_CONFIG).is_file():
        return _from_adapter(path, weights=weights, seed=seed)
    origin = _origin(name)
    if origin is None:
        registered = _find_registered(settings, name)
        if registered is None and (run_dir := find_run_dir(settings.runs_dir, name)) is not None:
            _refuse_random(weights, f"The run {run_dir.run_id}")
            return _from_run(run_dir)
        if registered is None:
            runs = [recipe.parent.name for recipe in settings.runs_dir.glob(f"*/{RUN_RECIPE_FILE}")]
            raise NotFoundError(
                f"There is no model {name!r}: it is not a run, a directory, a hub id, or a registered or "
                "built-in model.",
                next_step=did_you_mean(name, [*runs, *shipped_model_names()]),
            )
        version, found = registered
        _refuse_random(weights, f"The registered model {version.reference}")
        return found
    if origin == "built-in" and weights == "pretrained":
        raise InvalidInputError(
            f"The built-in model {name} has no trained weights.",
            next_step="Add --weights random to evaluate it with the weights that training starts from.",
        )
    located = absolute_if_directory(name) if origin == "directory" else name
    section = ModelSection(name=located, revision=revision, weights=weights)
    shown = path.resolve().name if origin == "directory" else name
    return ModelToEvaluate(section, _record(shown, origin, section, seed), seed=seed)


def _run_dir(settings: Settings, name: str) -> RunDir | None:
    """The run with this id or directory, or whose `model/` directory this is."""
    path = Path(name)
    candidates = [path, path.parent] if path.name == "model" else [path]
    if path.name == name:
        candidates.append(settings.runs_dir / name)
    runs = [RunDir(candidate.absolute()) for candidate in candidates]
    return next((run for run in runs if run.recipe.is_file()), None)


def _from_run(run_dir: RunDir) -> ModelToEvaluate:
    manifest = read_manifest(run_dir)
    if manifest is None or manifest.status != "succeeded" or not run_dir.model.is_dir():
        status = "is not finished" if manifest is None else manifest.status
        raise ConflictError(
            f"The run {run_dir.run_id} has no model to evaluate: {status}.",
            next_step=f"Finish it: tunix-rt train RECIPE --output {run_dir.path} --resume",
        )
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
    # Whatever the run started from, its exported weights and tokenizer are the ones that were trained.
    exported = ModelSection(name=str(run_dir.model))
    found = ModelToEvaluate(exported, model, markup=recipe.data.markup, run_dir=run_dir)
    if not (run_dir.model / ADAPTER_CONFIG).is_file():
        return found
    return replace(
        found,
        section=recipe.model.model_copy(
            update={"name": _base_of_run(run_dir, recipe), "tokenizer": str(run_dir.model)}
        ),
        model=model.model_copy(update={"is_adapter": True}),
        adapter=run_dir.model,
        seed=recipe.training.seed,
        drawn_by=manifest.engine if recipe.model.weights == "random" else None,
    )


def _base_of_run(run_dir: RunDir, recipe: Recipe) -> str:
    """The model that an adapter was trained on; of older runs, a directory may be a relative path."""
    name, is_random = recipe.model.name, recipe.model.weights == "random"
    # The adapter of a model from the hub has its commit.
    is_from_hub = is_random or adapter_base(run_dir.model).revision is not None
    return name if is_from_hub else absolute_if_directory(name)


def _from_adapter(directory: Path, *, weights: Weights, seed: int) -> ModelToEvaluate:
    base = adapter_base(directory)
    base_name = absolute_if_directory(base.name)
    is_on_hub = is_hub_id(base_name)
    section = ModelSection(
        name=base_name,
        revision=base.revision if is_on_hub else None,
        weights=weights,
        tokenizer=_own_tokenizer(directory),
    )
    record = _record(directory.resolve().name, "directory", section, seed)
    record = record.model_copy(update={"is_adapter": True, "base_model": base.name})
    return ModelToEvaluate(section, record, adapter=directory.absolute(), seed=seed)


def _own_tokenizer(directory: Path) -> str | None:
    return str(directory) if (directory / "tokenizer.json").is_file() else None


def _origin(name: str) -> ModelOrigin | None:
    """Where a model that is neither a run nor registered comes from; None if it can be neither."""
    if name in shipped_model_names():
        return "built-in"
    if name.startswith(KAGGLE_PREFIX):
        return "kaggle"
    if Path(name).is_dir():
        return "directory"
    return "hub" if is_hub_id(name) else None


def _record(name: str, origin: ModelOrigin, section: ModelSection, seed: int) -> EvaluatedModel:
    is_random = section.weights == "random"
    return EvaluatedModel(name=name, origin=origin, weights=section.weights, seed=seed if is_random else None)


def _refuse_random(weights: Weights, what: str) -> None:
    if weights == "random":
        raise InvalidInputError(
            f"{what} has trained weights; --weights random contradicts it.",
            next_step="Omit --weights, or name the model that the run started from.",
        )


def _find_registered(settings: Settings, name: str) -> tuple[ModelVersion, ModelToEvaluate] | None:
    """The registered version with this name, its files checked; None if no registered model has the name.

    Raises:
        NotFoundError: The alias or version does not exist.
        DataError: The files are damaged.
    """
    # A bare name may mean anything; the database is only queried if anything was ever registered.
    if not is_reference(name) and not settings.models_dir.is_dir():
        return None
    with closing(open_home(settings)) as home:
        if not is_reference(name) and name not in ModelRepository(home.database).names():
            return None
        version = resolve(home, name)
        return version, _from_version(home, version)


def _from_version(home: Home, version: ModelVersion) -> ModelToEvaluate:
    lineage, base = version.lineage, version.lineage.base
    directory = directory_of(home.settings, version)
    model = EvaluatedModel(
        name=version.reference,
        origin="registry",
        # A checkpoint has other weights than the run exported: its scores are not those of the run.
        run_id=None if lineage.is_checkpoint else lineage.run_id,
        base_model=None if base is None else base.name,
        dataset=lineage.dataset,
        dataset_hash=lineage.dataset_hash,
        recipe=lineage.recipe,
        is_adapter=version.kind == "adapter",
    )
    if version.kind == "model":
        return ModelToEvaluate(ModelSection(name=str(directory)), model, markup=version.markup)
    if base is None:
        raise DataError(
            f"The adapter {version.reference} has no recorded base model.",
            next_step="Register it again: the run or the adapter_config.json names its base model.",
        )
    base_name = base.name
    if base.revision is None and base.weights == "pretrained":  # not from the hub, unless registered by hand
        base_name = absolute_if_directory(base_name)
    if lineage.parent is not None:
        base_name = str(directory_of(home.settings, resolve(home, lineage.parent)))
    section = ModelSection(
        name=base_name, revision=base.revision, weights=base.weights, tokenizer=_own_tokenizer(directory)
    )
    return ModelToEvaluate(
        section, model, adapter=directory, seed=base.seed or 0, markup=version.markup, drawn_by=base.drawn_by
    )


def with_registered_model(settings: Settings, resolved: ResolvedRecipe) -> ResolvedRecipe:
    """Replace `name@alias` or `name:version` in a recipe by the version's directory, as an override.

    A recipe with any other model is returned unchanged.

    Raises:
        NotFoundError: There is no such model, alias or version.
        InvalidInputError: It is an adapter.
        DataError: Its files are damaged.
    """
    name = resolved.recipe.model.name
    if not is_reference(name) or name.startswith(KAGGLE_PREFIX):
        return resolved
    registered = _find_registered(settings, name)
    if registered is None:
        return resolved
    version, found = registered
    if version.kind == "adapter":
        raise InvalidInputError(
            f"{version.reference} is an adapter; training starts from a whole model.",
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


def directory_of(settings: Settings, version: ModelVersion) -> Path:
    """The checkout of a version (for an adapter, of the adapter), with every byte verified. Read-only.

    Raises:
        DataError: A file is missing or differs from what was registered; it is named.
    """
    return ModelStore(settings.models_dir).checkout(version.content_hash)


def resolve(home: Home, text: str) -> ModelVersion:
    """The version that `name` (the newest), `name@alias`, `name:version` or `name:label` refers to.

    Raises:
        InvalidInputError: The text is not a valid reference.
        NotFoundError: There is no such version.
    """
    return ModelRepository(home.database).find(parse_reference(text))


def model_detail(home: Home, name: str) -> ModelDetail:
    """A model by name, with its versions, or NotFoundError."""
    models = ModelRepository(home.database)
    return ModelDetail(**dict(models.get(name)), versions=models.versions(name))
