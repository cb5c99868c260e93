"""Registering runs and directories."""

import json
from pathlib import Path

import pytest
from support.models import plain_model, registered, sqlite_home, succeeded_run
from support.run_dirs import finished_run

from tunix_rt.base.errors import ConflictError, DataError, InvalidInputError, NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.models.find import directory_of, resolve
from tunix_rt.models.register import parse_annotations, register_directory, register_run
from tunix_rt.models.store import ModelRepository
from tunix_rt.models.types import parse_reference


@pytest.fixture
def settings(sqlite_template: Path, tmp_path: Path) -> Settings:
    return sqlite_home(sqlite_template, tmp_path / "home")


def test_run_is_registered_with_lineage(store: Home) -> None:
    run_dir = succeeded_run(store)
    registration = register_run(
        store, "demo", "first", annotations=parse_annotations("spring", "good", {"team": "a"})
    )
    version, lineage = registration.version, registration.version.lineage
    assert registration.is_new
    assert (version.reference, version.kind, version.markup, version.label) == (
        "demo:1",
        "model",
        "think",
        "spring",
    )
    assert (lineage.run_id, lineage.recipe, lineage.dataset, lineage.dataset_hash) == (
        "first",
        "tiny",
        "demo-v1",
        "d" * 64,
    )
    assert lineage.base is not None
    assert (lineage.base.name, lineage.base.weights, lineage.base.seed) == ("tiny-llama", "random", 5)
    checkout = directory_of(store.settings, version)
    assert (checkout / "config.json").read_bytes() == (run_dir.model / "config.json").read_bytes()
    assert version.size_bytes == sum(path.stat().st_size for path in run_dir.model.iterdir())


def test_registration_is_idempotent(store: Home) -> None:
    version = registered(store)
    again = register_run(store, "demo", "first")
    assert (again.version, again.is_new) == (version, False)
    assert register_run(store, "other", "first").is_new


def test_adapter_records_its_base(store: Home) -> None:
    version = registered(store, is_adapter=True)
    assert version.kind == "adapter"
    assert version.lineage.base is not None
    assert (version.lineage.base.name, version.lineage.base.drawn_by) == ("tiny-llama", "jax")


@pytest.mark.parametrize(("status", "problem"), [("failed", "has failed"), ("cancelled", "was cancelled")])
def test_unsuccessful_run_is_rejected(store: Home, status: str, problem: str) -> None:
    succeeded_run(store, status=status, exit_code=1)
    with pytest.raises(ConflictError, match=f"{problem}: only a run that succeeded.*--resume"):
        register_run(store, "demo", "first")
    assert ModelRepository(store.database).names() == ()


def test_unfinished_run_is_rejected(store: Home) -> None:
    finished_run(store.settings.runs_dir / "first").manifest.unlink()
    with pytest.raises(ConflictError, match="is not finished"):
        register_run(store, "demo", "first")


@pytest.mark.parametrize("run_id", ["frist", "../runs/first", "/etc", "first/model", ""])
def test_invalid_run_ids_are_not_found(store: Home, run_id: str) -> None:
    succeeded_run(store)
    with pytest.raises(NotFoundError, match="There is no run"):
        register_run(store, "demo", run_id)


@pytest.mark.parametrize("file_name", ["model.safetensors", "extra.safetensors"])
def test_changed_or_added_files_are_rejected(store: Home, file_name: str) -> None:
    run_dir = succeeded_run(store)
    (run_dir.model / file_name).write_text("other weights")
    with pytest.raises(DataError, match=rf"{file_name} is not what the run first wrote"):
        register_run(store, "demo", "first")
    assert ModelRepository(store.database).names() == ()


def test_directory_is_registered_without_run(store: Home, tmp_path: Path) -> None:
    version = register_directory(store, "demo", plain_model(tmp_path / "elsewhere")).version
    assert (version.kind, version.lineage.run_id, version.num_files) == ("model", None, 2)


def test_directory_without_weights_is_rejected(store: Home, tmp_path: Path) -> None:
    (plain_model(tmp_path / "elsewhere") / "model.safetensors").unlink()
    with pytest.raises(InvalidInputError, match=r"lacks model.safetensors"):
        register_directory(store, "demo", tmp_path / "elsewhere")


def test_missing_shard_is_named(store: Home, tmp_path: Path) -> None:
    directory = plain_model(tmp_path / "elsewhere")
    index = {"weight_map": {"a": "model.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(InvalidInputError, match=r"lacks model-00002-of-00002.safetensors"):
        register_directory(store, "demo", directory)


@pytest.mark.parametrize("name", ["", "a b", "../up", "versions"])
def test_invalid_name_copies_nothing(store: Home, tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInputError, match="cannot be called"):
        register_directory(store, name, plain_model(tmp_path / "elsewhere"))
    assert not store.settings.models_dir.exists()


def test_reference_resolves_to_version(store: Home) -> None:
    registered(store)
    second = registered(store, run_id="second")
    ModelRepository(store.database).set_alias(parse_reference("demo:1"), "old")
    assert resolve(store, "demo") == second
    assert resolve(store, "demo@old").version == 1
