"""Recipes by name, and the one that a request asks for, resolved."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.assets import (
    shipped_model_names,
    shipped_recipe_names,
    shipped_recipe_path,
    shipped_tokenizer_names,
)
from tunix_rt.base.errors import InvalidInputError, NotFoundError, did_you_mean
from tunix_rt.base.hub import is_hub_id
from tunix_rt.base.settings import Settings
from tunix_rt.core.runs.request import RunRequest
from tunix_rt.engines.training.data import smoke_flags
from tunix_rt.engines.weights.sources import KAGGLE_PREFIX
from tunix_rt.models.find import with_registered_model
from tunix_rt.recipes.load import Flag, ResolvedRecipe, load_recipe, read_values, resolve_recipe
from tunix_rt.recipes.types import Recipe

_ENDING = ".yaml"
UNNAMED = "run"
"""What a recipe is called that came without a name."""


@dataclass(frozen=True)
class AskedRecipe:
    """The recipe of a request."""

    name: str
    resolved: ResolvedRecipe


class NamedRecipe(BaseModel):
    """A recipe that has a name."""

    model_config = ConfigDict(frozen=True)
    name: str
    is_shipped: bool
    """Inside the package; else one's own, in the home directory."""


class RecipeList(BaseModel):
    """Every recipe that has a name, by name."""

    model_config = ConfigDict(frozen=True)
    data: tuple[NamedRecipe, ...]


def list_recipes(settings: Settings) -> RecipeList:
    """The shipped recipes and one's own."""
    paths = sorted(recipe_paths(settings).items())
    own = settings.recipes_dir
    return RecipeList(
        data=tuple(NamedRecipe(name=name, is_shipped=path.parent != own) for name, path in paths)
    )


def recipe_paths(settings: Settings) -> dict[str, Path]:
    """The recipes that have a name, and their files. One's own stands before a shipped one."""
    own = {path.stem: path for path in sorted(settings.recipes_dir.glob(f"*{_ENDING}"))}
    return {name: shipped_recipe_path(name) for name in shipped_recipe_names()} | own


def asked_recipe(settings: Settings, request: RunRequest, *, allows_paths: bool) -> AskedRecipe:
    """Resolve the recipe with everything that the request says about it.

    Args:
        settings: where one's own recipes are.
        request: what was asked for.
        allows_paths: whether the model may be a directory of this machine.

    Raises:
        NotFoundError: No recipe has this name.
        InvalidInputError: It says something that no recipe can say, or names a path.
    """
    flags = {} if request.dataset is None else {"data.dataset": Flag(request.dataset, "--dataset")}
    asked = _resolved(settings, request, flags)
    if request.num_smoke_steps is not None:
        smoke = smoke_flags(asked.resolved.recipe, request.num_smoke_steps, reason="--smoke-steps")
        asked = _resolved(settings, request, flags | smoke)
    if not allows_paths:
        _refuse_paths(asked.resolved.recipe, _names_in_the_file(settings, request))
    resolved = with_registered_model(settings, asked.resolved)
    return AskedRecipe(asked.name, _with_absolute_model(resolved) if allows_paths else resolved)


def _resolved(settings: Settings, request: RunRequest, flags: dict[str, Flag]) -> AskedRecipe:
    if isinstance(request.recipe, dict):
        resolved = resolve_recipe(request.recipe, sets=request.overrides, flags=flags)
        return AskedRecipe(request.name or UNNAMED, resolved)
    path = named_recipe_path(settings, request.recipe)
    return AskedRecipe(path.stem, load_recipe(path, sets=request.overrides, flags=flags))


def named_recipe_path(settings: Settings, recipe: str) -> Path:
    """The file of the recipe with this name, or NotFoundError."""
    # Looked up, never made into a path: a name cannot point elsewhere.
    paths, name = recipe_paths(settings), recipe.removesuffix(_ENDING)
    if name not in paths:
        raise NotFoundError(f"There is no recipe {name!r}.", next_step=did_you_mean(name, paths))
    return paths[name]


def _with_absolute_model(resolved: ResolvedRecipe) -> ResolvedRecipe:
    """A worker runs elsewhere than where the request was typed."""
    section = resolved.recipe.model
    if section.name in shipped_model_names() or not Path(section.name).is_dir():
        return resolved
    model = section.model_copy(update={"name": str(Path(section.name).absolute())})
    recipe = resolved.recipe.model_copy(update={"model": model})
    return resolved.model_copy(update={"recipe": recipe})


def _names_in_the_file(settings: Settings, request: RunRequest) -> list[str]:
    """The model and tokenizer of a recipe that lies on the server: whoever put it there may name a path."""
    if isinstance(request.recipe, dict):
        return []
    section = read_values(named_recipe_path(settings, request.recipe)).get("model")
    return [name for name in section.values() if isinstance(name, str)] if isinstance(section, dict) else []


def _refuse_paths(recipe: Recipe, trusted: list[str]) -> None:
    model = recipe.model
    if model.name not in trusted:
        _require_name("model.name", model.name, shipped_model_names())
    if model.tokenizer is not None and model.tokenizer not in trusted:
        _require_name("model.tokenizer", model.tokenizer, shipped_tokenizer_names())


def _require_name(key: str, name: str, built_in: list[str]) -> None:
    is_registered = "@" in name or ":" in name
    if name in built_in or is_hub_id(name) or (is_registered and "/" not in name):
        return
    if name.startswith(KAGGLE_PREFIX) and ".." not in name:
        return
    raise InvalidInputError(
        f"{key} {name!r} is not built in, not a hub id and not a registered model.",
        next_step=f"{did_you_mean(name, built_in)} A directory can be trained from with tunix-rt train or, "
        "on the server itself, tunix-rt runs submit.",
    )
