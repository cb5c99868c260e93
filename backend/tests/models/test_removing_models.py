"""Removing unused versions and collecting their files."""

import json
import threading
from pathlib import Path

import pytest
from support.evaluated_runs import store_answers
from support.evaluations import make_model
from support.models import plain_model, registered, sqlite_home, succeeded_run

from tunix_rt.base.errors import ConflictError, DataError, NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.evaluation.comparison.gate import set_baseline
from tunix_rt.evaluation.comparison.store import BaselineRepository
from tunix_rt.evaluation.comparison.types import GateRule
from tunix_rt.models.files import ModelStore
from tunix_rt.models.find import directory_of
from tunix_rt.models.register import register_directory, register_run
from tunix_rt.models.service import collect_garbage, remove_model, remove_version, set_alias, verify_versions
from tunix_rt.models.store import ModelRepository
from tunix_rt.models.types import parse_reference

FIRST = parse_reference("demo:1")


@pytest.fixture
def settings(sqlite_template: Path, tmp_path: Path) -> Settings:
    return sqlite_home(sqlite_template, tmp_path / "home")


def count_blobs(store: Home) -> int:
    return len(list(ModelStore(store.settings.models_dir).blobs.glob("*/*")))


def test_garbage_collection_frees_removed_versions(store: Home) -> None:
    first, second = registered(store), registered(store, run_id="second")
    remove_version(store, FIRST)
    assert count_blobs(store) == 3
    removed = collect_garbage(store)
    assert (removed.num_blobs, removed.num_bytes) == (1, len("weights of first"))
    assert directory_of(store.settings, second).is_dir()
    with pytest.raises(DataError, match="is missing"):
        directory_of(store.settings, first)


def test_alias_blocks_removal(store: Home) -> None:
    registered(store)
    set_alias(store, "demo", "champion")
    with pytest.raises(
        ConflictError, match=r"needed by the alias demo@champion.*models unalias demo@champion"
    ):
        remove_version(store, FIRST)


def test_baseline_blocks_removal(store: Home) -> None:
    registered(store, run_id="run-a")
    evaluation = store_answers(store, "run-a", model=make_model("run-a"))
    set_baseline(store, "main", evaluation, GateRule())
    with pytest.raises(ConflictError, match=r"the baseline main.*baselines rm main"):
        remove_version(store, FIRST)
    BaselineRepository(store.database).delete("main")
    remove_version(store, FIRST)


def set_base_model(store: Home, run_dir: RunDir, base: Path) -> None:
    recipe = json.loads(run_dir.recipe.read_text())
    recipe["model"] |= {"name": str(base), "weights": "pretrained"}
    run_dir.recipe.write_text(json.dumps(recipe))


def test_trained_children_block_removal(store: Home) -> None:
    parent = registered(store)
    child_run = succeeded_run(store, "second", weights="tuned further")
    set_base_model(store, child_run, directory_of(store.settings, parent))
    child = register_run(store, "child", "second").version
    assert child.lineage.parent == "demo:1"
    with pytest.raises(
        ConflictError, match="needed by child:1, trained from it; the run second, trained from it"
    ):
        remove_version(store, FIRST)


def test_bulk_removal_is_all_or_nothing(store: Home) -> None:
    registered(store)
    registered(store, run_id="second")
    set_alias(store, "demo:1", "champion")
    with pytest.raises(ConflictError, match="--all-versions"):
        remove_model(store, "demo")
    with pytest.raises(ConflictError, match="demo@champion"):
        remove_model(store, "demo", with_versions=True)
    assert len(ModelRepository(store.database).versions("demo")) == 2
    ModelRepository(store.database).remove_alias("demo", "champion")
    remove_model(store, "demo", with_versions=True)
    with pytest.raises(NotFoundError):
        ModelRepository(store.database).get("demo")


def test_verify_reports_damaged_files(store: Home) -> None:
    first, second = registered(store), registered(store, run_id="second")
    weights = directory_of(store.settings, first) / "model.safetensors"
    weights.chmod(0o644)
    weights.write_text("x")
    damaged, intact = verify_versions(store, (first, second))
    assert damaged.problems == ("model.safetensors: has 1 bytes instead of 16",)
    assert intact.problems == ()


def test_garbage_collection_waits_for_registrations(store: Home, tmp_path: Path) -> None:
    """A registration holds the lock from its first file to its database row."""
    files = ModelStore(store.settings.models_dir)
    collected = threading.Event()

    def collect() -> None:
        collect_garbage(store)
        collected.set()

    with files.shared_lock():
        tree = files.add(plain_model(tmp_path / "m"))
        collector = threading.Thread(target=collect)
        collector.start()
        assert not collected.wait(0.3)
        version = register_directory(store, "demo", tmp_path / "m").version
    collector.join(60)
    assert collected.is_set()
    assert version.content_hash == tree.content_hash
    assert (directory_of(store.settings, version) / "model.safetensors").read_text() == "weights"
