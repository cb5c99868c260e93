"""Resolving the model of an evaluation, with its template and weights hash."""

from pathlib import Path

import pytest
from support.run_dirs import finished_run

from tunix_rt.base.errors import ConflictError, DataError, InvalidInputError, NotFoundError
from tunix_rt.base.settings import Settings
from tunix_rt.engines.weights.sources import weights_hash
from tunix_rt.models.find import find_model


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


def test_run_is_found_by_part_of_id(settings: Settings) -> None:
    finished_run(settings.runs_dir / "20250131-142907-demo-3f2a")
    finished_run(settings.runs_dir / "20250131-142907-demo-77aa")
    for name in ("3f2a", "20250131-142907-demo-3"):
        assert find_model(settings, name).model.run_id == "20250131-142907-demo-3f2a"
    with pytest.raises(InvalidInputError, match="matches 2 runs"):
        find_model(settings, "2025")


def test_run_is_found_by_id_or_path(settings: Settings) -> None:
    run_dir = finished_run(settings.runs_dir / "first")
    for name in ("first", str(run_dir.path), str(run_dir.model)):
        found = find_model(settings, name)
        assert found.run_dir is not None
        assert found.run_dir.path == run_dir.path
        assert found.section.name == str(run_dir.model)
        assert found.section.weights == "pretrained"
        assert found.markup == "think"


def test_run_model_records_lineage(settings: Settings) -> None:
    finished_run(settings.runs_dir / "first")
    model = find_model(settings, "first").model
    assert (model.name, model.origin, model.run_id) == ("first", "run", "first")
    assert (model.base_model, model.dataset, model.recipe) == ("tiny-llama", "demo-v1", "tiny")
    assert model.is_trained_here
    assert not model.is_adapter


def test_run_adapter_uses_its_base(settings: Settings) -> None:
    run_dir = finished_run(settings.runs_dir / "first", is_adapter=True)
    found = find_model(settings, "first")
    assert (found.section.name, found.section.weights, found.seed) == ("tiny-llama", "random", 5)
    assert found.adapter == run_dir.model
    assert found.section.tokenizer == str(run_dir.model)
    assert found.model.is_adapter


def test_random_base_requires_training_engine(settings: Settings) -> None:
    finished_run(settings.runs_dir / "random", is_adapter=True, engine="torch")
    found = find_model(settings, "random")
    found.require_engine("torch")
    with pytest.raises(ConflictError, match=r"that the torch engine initialized.*Add --engine torch"):
        found.require_engine("jax")


def test_full_weights_load_in_any_engine(settings: Settings) -> None:
    finished_run(settings.runs_dir / "whole", engine="torch")
    find_model(settings, "whole").require_engine("jax")


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_unsuccessful_run_is_rejected(settings: Settings, status: str) -> None:
    finished_run(settings.runs_dir / "first", status=status)
    with pytest.raises(ConflictError, match=rf"has no model to evaluate: {status}.*--resume"):
        find_model(settings, "first")


def test_unfinished_run_is_rejected(settings: Settings) -> None:
    finished_run(settings.runs_dir / "first").manifest.unlink()
    with pytest.raises(ConflictError, match="is not finished"):
        find_model(settings, "first")


def test_random_weights_contradict_run(settings: Settings) -> None:
    finished_run(settings.runs_dir / "first")
    with pytest.raises(InvalidInputError, match="contradicts"):
        find_model(settings, "first", weights="random")


def test_adapter_directory_resolves_its_base(settings: Settings, tmp_path: Path) -> None:
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text(
        '{"base_model_name_or_path": "owner/base", "revision": "abc"}'
    )
    found = find_model(settings, str(adapter))
    assert (found.section.name, found.section.revision) == ("owner/base", "abc")
    assert found.adapter == adapter
    assert (found.model.name, found.model.origin, found.model.base_model) == (
        "adapter",
        "directory",
        "owner/base",
    )


@pytest.mark.parametrize("config", ["{}", "[]", "not json"])
def test_adapter_without_base_is_rejected(settings: Settings, tmp_path: Path, config: str) -> None:
    (tmp_path / "adapter_config.json").write_text(config)
    with pytest.raises(DataError, match=r"adapter_config\.json"):
        find_model(settings, str(tmp_path))


def test_builtin_model_requires_random_weights(settings: Settings) -> None:
    with pytest.raises(InvalidInputError, match="--weights random"):
        find_model(settings, "tiny-llama")
    found = find_model(settings, "tiny-llama", weights="random", seed=3)
    assert (found.model.origin, found.model.weights, found.model.seed) == ("built-in", "random", 3)
    assert found.identify(found.source(), lambda _: None).weights_hash is None


def test_origin_distinguishes_hub_and_kaggle(settings: Settings) -> None:
    assert find_model(settings, "owner/name").model.origin == "hub"
    assert find_model(settings, "kaggle:a/b/transformers/c").model.origin == "kaggle"


def test_unknown_name_suggests_nearest_run(settings: Settings) -> None:
    finished_run(settings.runs_dir / "first-try")
    with pytest.raises(NotFoundError, match="Did you mean 'first-try'"):
        find_model(settings, "first-tri")
    with pytest.raises(NotFoundError, match="not a run, a directory, a hub id"):
        find_model(settings, "base")


def test_weights_hash_covers_every_byte(tmp_path: Path) -> None:
    """Progress rises to 1, and the role of a directory changes the hash."""
    (tmp_path / "model.safetensors").write_bytes(b"x" * 5_000_000)
    progress: list[float] = []
    first = weights_hash({"model": tmp_path}, progress.append)
    assert progress == sorted(progress)
    assert progress[-1] == 1.0
    assert weights_hash({"model": tmp_path}, progress.append) == first
    assert weights_hash({"adapter": tmp_path}, progress.append) != first
    (tmp_path / "model.safetensors").write_bytes(b"x" * 4_999_999 + b"y")
    assert weights_hash({"model": tmp_path}, progress.append) != first
    assert weights_hash({"model": tmp_path / "nothing"}, progress.append) is None
