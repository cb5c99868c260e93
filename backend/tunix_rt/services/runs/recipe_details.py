"""One named recipe, and every key that a recipe can have."""

from pydantic import JsonValue

from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.base.records import Record
from tunix_rt.base.settings import Settings
from tunix_rt.recipes.keys import leaf_keys
from tunix_rt.recipes.load import load_recipe
from tunix_rt.services.runs.recipes import named_recipe_path


class RecipeDetail(Record):
    """A recipe that has a name: as it was written, and every value that it has."""

    name: str
    is_shipped: bool
    yaml: str
    recipe: dict[str, JsonValue]
    """With the defaults of what the file does not mention."""


class RecipeSetting(Record):
    """One key of a recipe."""

    key: str
    """Dotted, as `--set` takes it: `training.learning_rate`."""
    allowed: str
    """In words: `a number above 0`."""
    default: JsonValue
    meaning: str


class RecipeSettingList(Record):
    """Every key that holds a value, in the order of the schema."""

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
    """What `--set` can change."""
    keys = {key.path: key for key in leaf_keys()}  # both optimizers have a weight_decay
    return RecipeSettingList(
        data=tuple(
            RecipeSetting(key=path, allowed=key.allowed, default=key.default, meaning=key.meaning)
            for path, key in keys.items()
        )
    )
