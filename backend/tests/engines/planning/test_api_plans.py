"""Plans over HTTP: targets, recipes and their settings, and whether a run would fit."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from support.http import error_of
from support.submitting import SMALL_RECIPE, build_demo

from tunix_rt.base.home import Home

# No rows are kept: one database is enough.
pytestmark = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)

TOO_LARGE: dict[str, Any] = {"recipe": "lora_gemma_2b", "target": "t4", "dataset": "demo-v1",
             "overrides": ["training.batch_size=512", "training.remat=none", "eval={}"]}  # fmt: skip


def planned(client: TestClient, **values: Any) -> dict[str, Any]:
    answer = client.post("/api/tunix/plans", json={"recipe": SMALL_RECIPE, "device": "cpu"} | values)
    assert answer.status_code == 200, answer.text
    preview: dict[str, Any] = answer.json()
    return preview


def test_targets_begin_with_this_machine_and_say_their_memory(client: TestClient) -> None:
    targets = client.get("/api/tunix/targets").json()["data"]
    assert [target["name"] for target in targets[:2]] == ["local", "cpu"]
    assert [target["is_here"] for target in targets[:3]] == [True, True, False]
    v5e = next(target for target in targets if target["name"] == "v5e-8")
    assert (v5e["platform"], v5e["num_devices"], v5e["memory_bytes"]) == ("tpu", 8, int(15.75 * 1024**3))


def test_a_plan_has_memory_time_and_the_resolved_recipe(client: TestClient, store: Home) -> None:
    build_demo(store.settings)
    preview = planned(client, overrides=["training.num_steps=4"], session_seconds=60)
    assert preview["plan"]["fits"] is True
    assert preview["plan"]["num_steps"] == 4
    assert preview["plan"]["fits_session"] is True
    assert sum(preview["plan"]["components"].values()) == preview["plan"]["per_device_bytes"]
    assert preview["recipe"]["overrides"] == [
        {"key": "training.num_steps", "recipe_value": 2, "used_value": 4, "reason": "--set"}
    ]
    assert client.get("/api/tunix/runs").json()["data"] == []


def test_what_does_not_fit_is_answered_with_changes_that_make_it_fit(client: TestClient, store: Home) -> None:
    build_demo(store.settings)
    plan = planned(client, **TOO_LARGE)["plan"]
    assert plan["fits"] is False
    changes = plan["fixes"][0]["change"].removeprefix("--set ").split(" --set ")
    fixed = planned(client, **TOO_LARGE | {"overrides": _with(TOO_LARGE["overrides"], changes)})["plan"]
    assert fixed["fits"] is True


def _with(overrides: list[str], changes: list[str]) -> list[str]:
    """The overrides with some of them replaced: a key is set once."""
    return list({change.partition("=")[0]: change for change in [*overrides, *changes]}.values())


def test_without_a_dataset_memory_is_planned_and_time_is_not(client: TestClient) -> None:
    recipe = SMALL_RECIPE | {"data": {"row_length": 64}, "training": {"num_epochs": 1, "batch_size": 2}}
    plan = planned(client, recipe=recipe)["plan"]
    assert plan["per_device_bytes"] > 0
    assert "total_seconds" not in plan


def test_what_cannot_be_planned_is_refused_with_the_next_step(client: TestClient, store: Home) -> None:
    build_demo(store.settings)
    cases: list[tuple[dict[str, Any], int, str]] = [
        ({"recipe": "smoke_tinny"}, 404, "smoke_tiny"),
        ({"dataset": "demo-v7"}, 404, "demo-v1"),
        ({"target": "v5e-9"}, 422, "v5e-8"),
        ({"overrides": ["training.num_stepz=1"]}, 422, "training.num_steps"),
        ({"overrides": ["model.name=/etc"]}, 422, "not a hub id"),
        ({"session_seconds": 0}, 422, "session_seconds"),
    ]
    for values, status, said in cases:
        body = {"recipe": SMALL_RECIPE} | values
        error = error_of(client.post("/api/tunix/plans", json=body), status)
        assert said in error["detail"] + error["next_step"]


def test_a_recipe_is_shown_as_it_was_written_and_with_every_value(client: TestClient, store: Home) -> None:
    shown = client.get("/api/tunix/recipes/smoke_tiny").json()
    assert shown["is_shipped"] is True
    assert "training:" in shown["yaml"]
    assert shown["recipe"]["training"]["donate_buffers"] is True
    store.settings.recipes_dir.mkdir(parents=True)
    (store.settings.recipes_dir / "mine.yaml").write_text(shown["yaml"])
    assert client.get("/api/tunix/recipes/mine").json()["is_shipped"] is False
    error = error_of(client.get("/api/tunix/recipes/smoke_tinny"), 404)
    assert "smoke_tiny" in error["next_step"]


def test_every_setting_is_listed_once_with_what_it_means(client: TestClient) -> None:
    settings = client.get("/api/tunix/recipe-settings").json()["data"]
    keys = [setting["key"] for setting in settings]
    assert len(keys) == len(set(keys))
    rate = settings[keys.index("training.learning_rate")]
    assert rate == {
        "key": "training.learning_rate",
        "allowed": "a number above 0",
        "default": 2e-5,
        "meaning": "Peak learning rate.",
    }
