"""No name from a client reaches the file system: existing and missing files get the same error."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from support.apps import make_app
from support.http import error_of
from support.models import plain_model, registered, sqlite_home
from support.submitting import SMALL_RECIPE, build_demo
from support.sweeps import LEARNING_RATE

from tunix_rt.base.home import Home, open_home
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.types import RunFilter

MISSING = "/no/such/file"
CONFIG = {"model_type": "llama", "vocab_size": 512, "hidden_size": 8, "intermediate_size": 16,
          "num_hidden_layers": 1, "num_attention_heads": 2}  # fmt: skip

Send = Callable[[TestClient, str], Response]


def recipe_with(**model: Any) -> dict[str, Any]:
    return SMALL_RECIPE | {"model": {"name": "owner/name"} | model}


def job_with(recipe: dict[str, Any], space: dict[str, Any]) -> dict[str, Any]:
    return {"name": "x", "recipe": recipe, "search_space": space, "metric_name": "loss", "num_samples": 2}


def post(path: str, body: Callable[[str], dict[str, Any]]) -> Send:
    return lambda http, name: http.post(path, json=body(name))


RUNS: dict[str, Send] = {
    f"{path} {key}": post(path, lambda name, key=key: {"device": "cpu", "recipe": recipe_with(**{key: name})})
    for path in ("/api/tunix/runs", "/api/tunix/plans", "/api/tunix/run")
    for key in ("name", "revision", "tokenizer")
}
SENDERS: dict[str, Send] = RUNS | {
    "override": post("/api/tunix/runs", lambda name: {
        "recipe": SMALL_RECIPE, "overrides": [f"model.revision={json.dumps(name)}"]}),
    "template": post("/api/tunix/plans", lambda name: {
        "device": "cpu", "recipe": SMALL_RECIPE, "overrides": [f"data.chat_template={json.dumps(name)}"]}),
    "recipe": post("/api/tunix/runs", lambda name: {"recipe": name}),
    "dataset": post("/api/tunix/runs", lambda name: {"recipe": SMALL_RECIPE, "dataset": name}),
    "eval set": post("/api/tunix/runs", lambda name: {"recipe": SMALL_RECIPE, "eval_set": name}),
    "new recipe": post("/api/tunix/sft/manifest", lambda name: {"dataset_key": "demo-v1", "model_id": name}),
    "sweep": post("/api/tuning/jobs", lambda name: job_with(
        recipe_with(revision=name), {"training.learning_rate": LEARNING_RATE})),
    "sweep base": post("/api/tuning/jobs", lambda name: job_with(
        SMALL_RECIPE, {"training.learning_rate": LEARNING_RATE}) | {"base_model_id": name}),
    "sweep choice": post("/api/tuning/jobs", lambda name: job_with(
        recipe_with(), {"model.revision": {"type": "choice", "values": ["main", name]}})),
    "task": post("/api/tasks", lambda name: {"kind": "evaluation", "model": name, "eval_set": "eval_v2"}),
    "export": post("/api/tasks", lambda name: {"kind": "export", "model": name, "form": "zip"}),
    "task eval set": post("/api/tasks", lambda name: {"kind": "evaluation", "model": "x", "eval_set": name}),
    "chat": post("/v1/chat/completions", lambda name: {
        "model": name, "messages": [{"role": "user", "content": "?"}]}),
    "xray": lambda http, name: http.get("/api/datasets/demo-v1/xray", params={"model": name}),
    "xray template": lambda http, name: http.get("/api/datasets/demo-v1/xray", params={"template": name}),
}  # fmt: skip


@pytest.fixture(scope="module")
def place(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Home, Path]]:
    """A home with a dataset, and a directory with files and models that nobody may name."""
    root = tmp_path_factory.mktemp("place")
    home = open_home(sqlite_home(sqlite_template, root / "home"))
    build_demo(home.settings)
    (root / "text").write_text("secret\n")
    (root / "binary").write_bytes(bytes(range(256)))
    (root / "commit").write_text("../../../secret")
    os.mkfifo(root / "pipe")  # whoever opens it waits for ever
    for directory in (root / "model", root / "owner" / "model"):
        directory.mkdir(parents=True)
        (directory / "config.json").write_text(json.dumps(CONFIG))
    yield home, root
    home.close()


@pytest.fixture
def http(place: tuple[Home, Path], monkeypatch: pytest.MonkeyPatch) -> TestClient:
    home, root = place
    monkeypatch.chdir(root)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(root / "hub"))
    return TestClient(make_app(home))


def answer(send: Send, http: TestClient, name: str) -> tuple[int, str]:
    """The answer with the name taken out of it."""
    response = send(http, name)
    assert 400 <= response.status_code < 500, response.text[:500]
    text = response.text
    for written in (json.dumps(repr(name))[1:-1], json.dumps(name)[1:-1]):
        text = text.replace(written, "NAME")
    return response.status_code, text


@pytest.mark.parametrize("sender", SENDERS)
def test_existing_files_look_like_missing_ones(
    http: TestClient, place: tuple[Home, Path], sender: str
) -> None:
    home, root = place
    missing = answer(SENDERS[sender], http, MISSING)
    names = [str(root / name) for name in ("text", "binary", "commit", "pipe", "model", "owner")]
    relative = ["../commit", "./owner/model", "owner/../model", "owner/model/.", "owner//model", "model/"]
    deep = "/".join([".."] * 8)
    for name in (*names, *relative, "/dev/zero", "/proc/kmsg", f"{deep}/dev/zero", "~/x"):
        assert answer(SENDERS[sender], http, name) == missing, name
    assert RunRepository(home.database).list(RunFilter(), limit=1, offset=0).total == 0


@pytest.mark.parametrize("sender", ["/api/tunix/plans name", "/api/tunix/plans tokenizer", "xray"])
def test_hub_id_is_never_a_local_directory(http: TestClient, sender: str) -> None:
    assert answer(SENDERS[sender], http, "owner/model") == answer(SENDERS[sender], http, "owner/other")


@pytest.mark.parametrize("revision", ["main", "v1.0", "refs/pr/3", "3f9c2a1"])
def test_revisions_of_the_hub_are_accepted(http: TestClient, revision: str) -> None:
    error = error_of(SENDERS["/api/tunix/plans revision"](http, revision), 422)
    assert "not in the local cache" in error["detail"]


def test_configured_directories_may_be_named(
    place: tuple[Home, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, root = place
    models = tmp_path / "models"
    models.mkdir()
    model = plain_model(models / "mine")
    (model / "config.json").write_text(json.dumps(CONFIG))
    (models / "link").symlink_to(root / "model")
    settings = home.settings.model_copy(update={"model_dirs": (models,)})
    http = TestClient(make_app(Home(settings, home.database)))

    def plan(name: str) -> Response:
        recipe = recipe_with(name=name, tokenizer="tiny")
        return http.post("/api/tunix/plans", json={"device": "cpu", "recipe": recipe})

    assert plan(str(model)).status_code == 200
    refused = error_of(plan(str(models / "none")), 422)["detail"]
    others = (models / "link", root / "model", f"{models}/../models/mine", models / "mine/config.json")
    for other in map(str, others):
        assert error_of(plan(other), 422)["detail"] == refused.replace(str(models / "none"), other)


def test_sweep_may_start_from_a_registered_model(store: Home) -> None:
    """Its directory in the resolved recipe is the server's own, not a path of the client."""
    build_demo(store.settings)
    registered(store)
    recipe = SMALL_RECIPE | {"model": {"name": "demo:1"}}
    http = TestClient(make_app(store))
    space = {"training.learning_rate": LEARNING_RATE}
    assert http.post("/api/tuning/jobs", json=job_with(recipe, space)).status_code == 201
