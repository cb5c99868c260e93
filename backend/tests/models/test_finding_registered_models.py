"""Resolving registered models and their evaluations by reference."""

from pathlib import Path

import pytest
from support.evaluated_runs import store_answers
from support.evaluations import make_model
from support.models import plain_model, registered, sqlite_home

from tunix_rt.base.errors import ConflictError, DataError, InvalidInputError, NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.evaluation.service import find_evaluation
from tunix_rt.models.find import directory_of, find_model
from tunix_rt.models.register import register_directory
from tunix_rt.models.store import ModelRepository
from tunix_rt.models.types import parse_reference


@pytest.fixture
def settings(sqlite_template: Path, tmp_path: Path) -> Settings:
    return sqlite_home(sqlite_template, tmp_path / "home")


def test_version_is_found_by_any_reference(store: Home) -> None:
    version = registered(store)
    ModelRepository(store.database).set_alias(parse_reference("demo"), "champion")
    for name in ("demo", "demo:1", "demo@champion"):
        found = find_model(store.settings, name)
        assert found.section.name == str(directory_of(store.settings, version))
        assert (found.model.name, found.model.origin, found.model.run_id) == ("demo:1", "registry", "first")
        assert (found.model.dataset, found.markup, found.adapter) == ("demo-v1", "think", None)


def test_registered_adapter_resolves_its_base(store: Home) -> None:
    version = registered(store, is_adapter=True)
    found = find_model(store.settings, "demo")
    assert found.adapter == directory_of(store.settings, version)
    assert (found.section.name, found.section.weights, found.seed) == ("tiny-llama", "random", 5)
    assert found.model.is_adapter
    with pytest.raises(ConflictError, match="--engine jax"):
        found.require_engine("torch")


def test_damaged_version_is_not_loaded(store: Home) -> None:
    weights = directory_of(store.settings, registered(store)) / "model.safetensors"
    weights.chmod(0o644)
    weights.write_text(weights.read_text().upper())
    with pytest.raises(DataError, match=r"model\.safetensors is not what was registered"):
        find_model(store.settings, "demo:1")


def test_unknown_references_are_not_found(store: Home) -> None:
    registered(store)
    with pytest.raises(NotFoundError, match="There is no demo@gone"):
        find_model(store.settings, "demo@gone")
    with pytest.raises(NotFoundError, match="registered or built-in model"):
        find_model(store.settings, "another")


def test_random_weights_contradict_registered_model(store: Home) -> None:
    registered(store)
    with pytest.raises(InvalidInputError, match="demo:1 has trained weights"):
        find_model(store.settings, "demo", weights="random")


def test_evaluation_is_found_by_version(store: Home, tmp_path: Path) -> None:
    version = register_directory(store, "demo", plain_model(tmp_path / "elsewhere")).version
    with pytest.raises(NotFoundError, match="demo:1 has not been evaluated"):
        find_evaluation(store, "demo:1")
    evaluation = store_answers(store, version.reference)
    assert find_evaluation(store, "demo:1") == evaluation


def test_run_evaluation_applies_to_version(store: Home) -> None:
    registered(store, run_id="run-a")
    evaluation = store_answers(store, "run-a", model=make_model("run-a"))
    ModelRepository(store.database).set_alias(parse_reference("demo"), "champion")
    assert find_evaluation(store, "demo@champion") == evaluation
