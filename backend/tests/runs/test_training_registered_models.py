"""Recipes that start from a registered model; the version is pinned when the run is requested."""

from pathlib import Path

import pytest
from support.models import registered, sqlite_home
from support.recipes import make_recipe
from support.submitting import build_demo, small_request

from tunix_rt.base.errors import InvalidInputError, NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.models.find import directory_of, with_registered_model
from tunix_rt.models.service import set_alias
from tunix_rt.recipes.load import ResolvedRecipe
from tunix_rt.runs.submit import requested_recipe


@pytest.fixture
def settings(sqlite_template: Path, tmp_path: Path) -> Settings:
    return sqlite_home(sqlite_template, tmp_path / "home")


def resolved(model: str) -> ResolvedRecipe:
    return ResolvedRecipe(recipe=make_recipe(model))


def test_alias_is_pinned_with_override(store: Home) -> None:
    version = registered(store)
    set_alias(store, "demo", "champion")
    pinned = with_registered_model(store.settings, resolved("demo@champion"))
    directory = str(directory_of(store.settings, version))
    assert pinned.recipe.model.name == directory
    (override,) = pinned.overrides
    assert (override.key, override.recipe_value, override.used_value) == (
        "model.name",
        "demo@champion",
        directory,
    )
    assert override.reason == f"demo@champion is demo:1, content {version.content_hash[:12]}"
    assert with_registered_model(store.settings, pinned) == pinned


def test_other_model_names_are_unchanged(store: Home) -> None:
    for name in ("tiny-llama", "owner/name", "kaggle:a/b/transformers/c", "kaggle:a"):
        assert with_registered_model(store.settings, resolved(name)) == resolved(name)


def test_adapter_is_rejected_as_base(store: Home) -> None:
    registered(store, is_adapter=True)
    with pytest.raises(InvalidInputError, match="--as merged"):
        with_registered_model(store.settings, resolved("demo:1"))


def test_unregistered_model_is_not_found(store: Home) -> None:
    with pytest.raises(NotFoundError, match="no registered model 'demo'"):
        with_registered_model(store.settings, resolved("demo@champion"))


def test_request_pins_alias_version(store: Home) -> None:
    build_demo(store.settings)
    version = registered(store)
    set_alias(store, "demo", "champion")
    request = small_request(overrides=("model.name=demo@champion", "model.weights=pretrained"))
    requested = requested_recipe(store.settings, request, allows_paths=False)
    assert requested.resolved.recipe.model.name == str(directory_of(store.settings, version))
