"""Submissions are validated and planned before they are queued."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.submitting import SMALL_RECIPE, build_demo, small_request

from tunix_rt.base.errors import (
    ConflictError,
    DoesNotFitError,
    InvalidInputError,
    NotFoundError,
    StorageError,
    TunixRTError,
)
from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.service import delete_dataset
from tunix_rt.recipes.load import load_recipe
from tunix_rt.runs.files import JobDir
from tunix_rt.runs.service import remove
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.submit import prepare, submit
from tunix_rt.runs.types import RunFilter, RunRequest

OVERSIZED = {"recipe": "lora_gemma_2b", "target": "t4", "dataset": "demo-v1",
             "overrides": ("training.batch_size=512", "training.remat=none", "eval={}")}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Settings:
    settings = Settings(home=tmp_path / "home")
    build_demo(settings)
    return settings


def prepare_error(settings: Settings, **values: Any) -> TunixRTError:
    with pytest.raises(TunixRTError) as refused:
        prepare(settings, small_request(**values))
    return refused.value


def test_submitted_run_stores_recipe_and_plan(store: Home) -> None:
    build_demo(store.settings)
    request = small_request(overrides=("training.learning_rate=1e-5",), num_smoke_steps=1, priority=3)
    run = submit(store, request, sweep_id="sweep-a")
    assert (run.status, run.priority, run.sweep_id, run.device) == ("queued", 3, "sweep-a", "cpu")
    assert (run.model, run.dataset, run.mode, run.engine) == ("tiny-llama", "demo-v1", "full", "jax")
    assert "-small-" in run.run_id
    assert run.plan is not None
    assert run.plan["fits"] is True
    resolved = load_recipe(JobDir(store.settings.jobs_dir / run.run_id).recipe)
    assert resolved.recipe.training.num_steps == 1
    assert resolved.recipe.training.learning_rate == 1e-5
    assert [override.reason for override in resolved.overrides] == ["--set", "--smoke-steps"]
    assert run.recipe == json.loads(json.dumps(resolved.to_json()))


def test_prepare_previews_without_writing(home: Settings) -> None:
    preview = prepare(home, small_request())
    assert preview.plan is not None
    assert preview.plan.num_steps == 2
    assert preview.engine == "jax"
    assert not home.jobs_dir.exists()


def test_shipped_recipe_is_found_by_name(home: Settings) -> None:
    preview = prepare(home, RunRequest(recipe="smoke_tiny", dataset="demo-v1", overrides=("eval={}",)))
    assert (preview.recipe_name, preview.model, preview.dataset) == ("smoke_tiny", "tiny-gemma", "demo-v1")


def test_own_recipe_overrides_shipped(home: Settings) -> None:
    home.recipes_dir.mkdir()
    (home.recipes_dir / "demo.yaml").write_text(json.dumps(SMALL_RECIPE))
    assert prepare(home, RunRequest(recipe="demo.yaml")).model == "tiny-llama"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"recipe": "smoke_tinny"}, "Did you mean 'smoke_tiny'"),
        ({"recipe": "../../etc/passwd"}, "There is no recipe"),
        ({"dataset": "demo-v2"}, "Did you mean 'demo-v1'"),
        ({"eval_set": "eval_v3"}, "Did you mean 'eval_v"),
        ({"overrides": ("training.num_stepz=3",)}, "did you mean training.num_steps"),
        ({"recipe": SMALL_RECIPE | {"trainin": {}}}, "did you mean training"),
        ({"overrides": ("data.split=tran",)}, "tran"),
        ({"target": "h2000"}, "Did you mean 'h200'"),
        ({"overrides": ("data.dataset=null",)}, "--dataset"),
        ({"overrides": ("nothing",)}, "has no value"),
    ],
)  # fmt: skip
def test_invalid_request_suggests_fix(home: Settings, values: dict[str, Any], expected: str) -> None:
    error = prepare_error(home, **values)
    assert isinstance(error, InvalidInputError | NotFoundError)
    assert expected in str(error)


@pytest.mark.parametrize("name", ["/etc", "../somewhere", "~/model", ".", "model-of-this-directory", "a/b/c"])
@pytest.mark.parametrize("key", ["model.name", "model.tokenizer"])
def test_client_paths_are_rejected(home: Settings, key: str, name: str) -> None:
    error = prepare_error(home, overrides=(f"{key}={name}",))
    assert f"{key} {name!r} is not built in" in error.detail


def make_model_dir(path: Path) -> Path:
    shape = {"model_type": "llama", "vocab_size": 64, "hidden_size": 8, "intermediate_size": 16,
             "num_hidden_layers": 1, "num_attention_heads": 2}  # fmt: skip
    path.mkdir()
    (path / "config.json").write_text(json.dumps(shape))
    return path


def test_local_request_may_name_directory(
    home: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_model_dir(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    request = small_request(overrides=("model.name=mine", "model.tokenizer=tiny"))
    assert prepare(home, request, allows_paths=True).model == str(tmp_path / "mine")


def test_server_recipe_may_name_directory(home: Settings, tmp_path: Path) -> None:
    path = str(make_model_dir(tmp_path / "mine"))
    home.recipes_dir.mkdir()
    recipe = SMALL_RECIPE | {"model": {"name": path, "tokenizer": "tiny"}}
    (home.recipes_dir / "own.yaml").write_text(json.dumps(recipe))
    assert prepare(home, RunRequest(recipe="own", device="cpu")).model == path
    error = prepare_error(home, recipe="own", overrides=("model.name=/etc",))
    assert "'/etc' is not built in" in error.detail


def test_oversized_run_is_rejected_with_advice(home: Settings) -> None:
    with pytest.raises(DoesNotFitError, match="would make it fit: --set") as refused:
        prepare(home, RunRequest.model_validate(OVERSIZED))
    assert "--force" in refused.value.next_step


def test_force_queues_oversized_run(store: Home) -> None:
    build_demo(store.settings)
    run = submit(store, RunRequest.model_validate(OVERSIZED | {"is_forced": True}))
    assert run.request.is_forced
    assert run.plan is not None
    assert run.plan["fits"] is False


@pytest.mark.parametrize("values", [{"device": "tpu"}, {"executor": "ray"}, {"device": "gpu"}])
def test_remote_hardware_is_not_planned(home: Settings, values: dict[str, str]) -> None:
    preview = prepare(home, small_request(engine="jax", **values))
    assert preview.plan is None
    assert "set target to the hardware" in preview.notes[0]


def test_queued_run_protects_its_dataset(store: Home) -> None:
    build_demo(store.settings)
    run = submit(store, small_request())
    with pytest.raises(ConflictError, match=run.run_id):
        delete_dataset(store.settings, "demo-v1")
    remove(store, run.run_id)
    delete_dataset(store.settings, "demo-v1")


def test_duplicate_id_keeps_original_run(store: Home, runs: RunRepository) -> None:
    build_demo(store.settings)
    run = submit(store, small_request(), run_id="trial-1")
    before = JobDir(store.settings.jobs_dir / "trial-1").recipe.read_bytes()
    with pytest.raises(ConflictError, match="already"):
        submit(store, small_request(num_smoke_steps=1), run_id="trial-1")
    assert JobDir(store.settings.jobs_dir / "trial-1").recipe.read_bytes() == before
    assert runs.get("trial-1") == run


def test_unwritable_recipe_is_not_queued(store: Home, runs: RunRepository) -> None:
    build_demo(store.settings)
    store.settings.jobs_dir.write_text("in the way")
    with pytest.raises(StorageError, match="writing the recipe of a run"):
        submit(store, small_request())
    assert runs.list(RunFilter(), limit=1, offset=0).total == 0
