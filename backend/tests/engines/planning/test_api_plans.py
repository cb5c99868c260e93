"""Planning over HTTP: targets, recipes, recipe settings and plans."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from support.http import error_of
from support.submitting import SMALL_RECIPE, build_demo

from tunix_rt.base.home import Home

# Plans are not stored, so one database is enough.
pytestmark = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)

TOO_LARGE: dict[str, Any] = {"recipe": "lora_gemma_2b", "target": "t4", "dataset": "demo-v1",
             "overrides": ["training.batch_size=512", "training.remat=none", "eval={}"]}  # fmt: skip


def request_plan(client: TestClient, **values: Any) -> dict[str, Any]:
    response = client.post("/api/tunix/plans", json={"recipe": SMALL_RECIPE, "device": "cpu"} | values)
    assert response.status_code == 200, response.text
    preview: dict[str, Any] = response.json()
    return preview


def test_targets_start_with_this_machine(client: TestClient) -> None:
    targets = client.get("/api/tunix/targets").json()["data"]
    assert [target["name"] for target in targets[:2]] == ["local", "cpu"]
    assert [target["is_here"] for target in targets[:3]] == [True, True, False]
    v5e = next(target for target in targets if target["name"] == "v5e-8")
    assert (v5e["platform"], v5e["num_devices"], v5e["memory_bytes"]) == ("tpu", 8, int(15.75 * 1024**3))


def test_plan_has_memory_time_and_recipe(client: TestClient, store: Home) -> None:
    build_demo(store.settings)
    preview = request_plan(client, overrides=["training.num_steps=4"], session_seconds=60)
    assert preview["plan"]["fits"] is True
    assert preview["plan"]["num_steps"] == 4
    assert preview["plan"]["fits_session"] is True
    assert sum(preview["plan"]["components"].values()) == preview["plan"]["per_device_bytes"]
    assert preview["recipe"]["overrides"] == [
        {"key": "training.num_steps", "recipe_value": 2, "used_value": 4, "reason": "--set"}
    ]
    assert client.get("/api/tunix/runs").json()["data"] == []


def test_suggested_change_makes_plan_fit(client: TestClient, store: Home) -> None:
    build_demo(store.settings)
    plan = request_plan(client, **TOO_LARGE)["plan"]
    assert plan["fits"] is False
    changes = plan["fixes"][0]["change"].removeprefix("--set ").split(" --set ")
    fixed = request_plan(
        client, **TOO_LARGE | {"overrides": replace_overrides(TOO_LARGE["overrides"], changes)}
    )["plan"]
    assert fixed["fits"] is True


def replace_overrides(overrides: list[str], changes: list[str]) -> list[str]:
    """Apply changes to the overrides: each key is set once, and the last value wins."""
    return list({change.partition("=")[0]: change for change in [*overrides, *changes]}.values())


def test_plan_without_dataset_omits_time(client: TestClient) -> None:
    recipe = SMALL_RECIPE | {"data": {"row_length": 64}, "training": {"num_epochs": 1, "batch_size": 2}}
    plan = request_plan(client, recipe=recipe)["plan"]
    assert plan["per_device_bytes"] > 0
    assert "total_seconds" not in plan


def test_invalid_plan_names_next_step(client: TestClient, store: Home) -> None:
    build_demo(store.settings)
    cases: list[tuple[dict[str, Any], int, str]] = [
        ({"recipe": "smoke_tinny"}, 404, "smoke_tiny"),
        ({"dataset": "demo-v7"}, 404, "demo-v1"),
        ({"target": "v5e-9"}, 422, "v5e-8"),
        ({"overrides": ["training.num_stepz=1"]}, 422, "training.num_steps"),
        ({"overrides": ["model.name=/etc"]}, 422, "not a hub id"),
        ({"session_seconds": 0}, 422, "session_seconds"),
    ]
    for values, status, expected in cases:
        body = {"recipe": SMALL_RECIPE} | values
        error = error_of(client.post("/api/tunix/plans", json=body), status)
        assert expected in error["detail"] + error["next_step"]


def test_recipe_has_source_and_all_values(client: TestClient, store: Home) -> None:
    """A user recipe is not marked as shipped; a misspelt name suggests the nearest one."""
    shown = client.get("/api/tunix/recipes/smoke_tiny").json()
    assert shown["is_shipped"] is True
    assert "training:" in shown["yaml"]
    assert shown["recipe"]["training"]["donate_buffers"] is True
    store.settings.recipes_dir.mkdir(parents=True)
    (store.settings.recipes_dir / "mine.yaml").write_text(shown["yaml"])
    assert client.get("/api/tunix/recipes/mine").json()["is_shipped"] is False
    error = error_of(client.get("/api/tunix/recipes/smoke_tinny"), 404)
    assert "smoke_tiny" in error["next_step"]


def test_recipe_settings_are_unique_and_described(client: TestClient) -> None:
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
