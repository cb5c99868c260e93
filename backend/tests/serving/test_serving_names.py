"""Names of served models and the versions they resolve to, on both databases."""

from pathlib import Path

import pytest
from support.run_dirs import finished_run
from support.scripted_models import scripted_run, write_scripted_model

from tunix_rt.base.errors import NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.models.register import register_directory, register_run
from tunix_rt.models.store import ModelRepository
from tunix_rt.models.types import ModelReference
from tunix_rt.serving.names import find_served, list_served


@pytest.fixture
def registry(store: Home, tmp_path: Path) -> Home:
    """Two versions of `adder`, the first with the alias `best`, its run, and runs without a model."""
    runs = store.settings.runs_dir
    scripted_run(runs, "sums")
    register_run(store, "adder", "sums")
    ModelRepository(store.database).set_alias(ModelReference("adder", version=1), "best")
    register_directory(store, "adder", write_scripted_model(tmp_path / "other", "seven"))
    finished_run(runs / "broken", status="failed", exit_code=1)
    (finished_run(runs / "damaged").manifest).write_text("{}", encoding="utf-8")
    return store


def test_versions_aliases_and_runs_are_listed(registry: Home) -> None:
    listed = {model.id: model.root for model in list_served(registry)}
    assert listed == {"adder:1": "adder:1", "adder@best": "adder:1", "adder:2": "adder:2", "sums": "sums"}


def test_names_resolve_to_versions(registry: Home) -> None:
    expected = {"adder": "adder:2", "adder@best": "adder:1", "adder:1": "adder:1", "sums": "sums"}
    assert {name: find_served(registry, name).root for name in expected} == expected
    ModelRepository(registry.database).set_alias(ModelReference("adder", version=2), "best")
    assert find_served(registry, "adder@best").root == "adder:2"


def test_unservable_names_are_not_found(registry: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(registry.settings.home_dir)  # some of the names are paths in this directory
    unknown = ["adder@worst", "adder:3", "broken", "missing", "tiny-llama"]
    for name in [*unknown, "..", ".", "", "runs/sums", "sums/model", "../runs/sums", "a\x00b", "a" * 5_000]:
        with pytest.raises(NotFoundError, match="GET /v1/models"):
            find_served(registry, name)
