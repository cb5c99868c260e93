"""Session planning: training time, checkpoint spacing and checkpoint directory."""

from pathlib import PurePosixPath

import pytest
from support.recipes import make_recipe

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.planning.types import Plan
from tunix_rt.kaggle.session import plan_session, training_seconds

HOUR = 3600
GB = 10**9


def make_plan(*, step_seconds: float = 1.0, num_steps: int = 100, weights: int = GB, state: int = GB) -> Plan:
    return Plan(
        model="a",
        target="v5e-8",
        fits=True,
        per_device_bytes=1,
        limit_bytes=2,
        components={"weights": weights, "optimizer_state": state},
        source="estimated",
        reason="Fits.",
        num_devices=8,
        num_target_devices=8,
        mesh={"data": 4, "fsdp": 2, "tensor": 1},
        tokens_per_step=1,
        flops_per_step=1.0,
        step_seconds=step_seconds,
        num_steps=num_steps,
        total_seconds=step_seconds * num_steps,
    )


@pytest.mark.parametrize(("hours", "minutes"), [(9, 8 * 60 + 15), (3, 2 * 60 + 15), (0.2, 9)])
def test_training_time_leaves_a_margin(hours: float, minutes: float) -> None:
    assert training_seconds(hours * HOUR) == minutes * 60


def test_long_training_spans_sessions() -> None:
    plan = make_plan(step_seconds=10.0, num_steps=6000, weights=1000, state=1000)
    session = plan_session(make_recipe(), plan, 9 * HOUR)
    assert (session.num_sessions, session.save_every_steps) == (3, 90)
    assert session.directory == PurePosixPath("/kaggle/working")


@pytest.mark.parametrize(("recipe_spacing", "spacing"), [(50, None), (200, 90), (None, 90)])
def test_more_frequent_saves_are_kept(recipe_spacing: int | None, spacing: int | None) -> None:
    recipe = make_recipe(**{"output.save_every_steps": recipe_spacing})
    plan = make_plan(step_seconds=10.0, num_steps=1000, weights=1000, state=1000)
    assert plan_session(recipe, plan, 9 * HOUR).save_every_steps == spacing


def test_short_training_keeps_its_spacing() -> None:
    assert plan_session(make_recipe(), make_plan(num_steps=100), 9 * HOUR).save_every_steps is None


def test_large_checkpoints_use_temporary_disk() -> None:
    session = plan_session(make_recipe(), make_plan(weights=4 * GB, state=GB), 9 * HOUR)
    assert session.checkpoint_bytes == 10 * GB  # two shards of 5 GB; the data axis holds copies
    assert session.directory == PurePosixPath("/kaggle/temp")


def test_multiple_sessions_need_persistent_checkpoints() -> None:
    plan = make_plan(step_seconds=1000.0, num_steps=1000, weights=4 * GB)
    with pytest.raises(InvalidInputError, match="34 sessions"):
        plan_session(make_recipe(), plan, 9 * HOUR)


def test_lora_checkpoint_holds_only_adapters() -> None:
    plan = make_plan(weights=5 * GB, state=2000)
    session = plan_session(make_recipe(**{"training.mode": "lora"}), plan, 9 * HOUR)
    assert session.checkpoint_bytes == 6000
