"""Recipes whose model is a registered one: pinned to the version that it means now."""

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.settings import Settings
from tunix_rt.core.models.reference import is_reference
from tunix_rt.engines.weights.sources import KAGGLE_PREFIX
from tunix_rt.recipes.load import ResolvedRecipe
from tunix_rt.recipes.types import Override
from tunix_rt.services.registry.loading import find_registered


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
