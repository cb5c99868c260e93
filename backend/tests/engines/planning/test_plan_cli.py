"""Text and JSON output of `tunix-rt plan --fast`, which skips the compiler."""

import json
from pathlib import Path

import pytest
from support.recipes import SEED_KEYS, make_recipe
from typer.testing import CliRunner, Result

from tunix_rt.base.errors import InvalidInputError, NotFoundError, TunixRTError
from tunix_rt.base.terminal.options import parse_duration
from tunix_rt.cli.main import app
from tunix_rt.engines.planning.views import duration


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    return write_recipe(
        tmp_path / "recipe.json", **{"data.dataset": "dev-reasoning-v2", "data.row_length": 2048}
    )


@pytest.fixture
def seed(tmp_path: Path) -> Path:
    return write_recipe(tmp_path / "seed.json", **SEED_KEYS)


def write_recipe(path: Path, **keys: object) -> Path:
    path.write_text(make_recipe(**keys).model_dump_json(), encoding="utf-8")
    return path


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["plan", *map(str, arguments), "--fast"])


def failure(*arguments: str | Path) -> TunixRTError:
    error = invoke(*arguments).exception
    assert isinstance(error, TunixRTError), error
    return error


def test_json_output_and_exit_code(seed: Path, recipe: Path) -> None:
    oversized = invoke(seed, "--on", "v5e-8", "--json")
    assert oversized.exit_code == 1
    plan = json.loads(oversized.stdout)
    documented = {"fits", "per_device_bytes", "limit_bytes", "components", "source", "step_seconds"}
    assert documented | {"total_seconds", "fixes"} <= plan.keys()
    assert {"weights", "gradients", "optimizer_state", "activations", "logits", "temporaries"} <= plan[
        "components"
    ].keys()
    assert plan["source"] == "estimated"
    assert invoke(recipe, "--on", "v5e-8", "--json").exit_code == 0


def test_text_shows_verdict_bars_and_fix(seed: Path) -> None:
    text = invoke(seed, "--on", "v5e-8").stdout
    assert text.startswith("Does not fit: 28.0")
    assert "limit             15.75 GiB  ███" in text
    assert "--set training.optimizer=adafactor" in text
    assert "1 of 8 devices used" in text


def test_override_makes_plan_fit(seed: Path) -> None:
    assert invoke(seed, "--on", "v5e-8", "--set", "training.mode=lora").exit_code == 0


def test_too_short_session_fails(recipe: Path) -> None:
    assert invoke(recipe, "--on", "v5e-8", "--session", "9h").exit_code == 0
    short = invoke(recipe, "--on", "v5e-8", "--session", "1s")
    assert short.exit_code == 1
    assert "longer than the session of 1.0 s" in short.stdout


def test_unknown_dataset_option_is_rejected(seed: Path) -> None:
    assert isinstance(failure(seed, "--on", "v5e-8", "--dataset", "nobody-v9"), NotFoundError)


@pytest.mark.parametrize("target", ["v5e", "tpu", "RTX4090"])
def test_unknown_target_is_rejected(seed: Path, target: str) -> None:
    assert isinstance(failure(seed, "--on", target), InvalidInputError)


@pytest.mark.parametrize(("text", "seconds"), [("9h", 32_400), ("1h30m", 5_400), ("1.5m", 90), ("45s", 45)])
def test_durations_are_parsed(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["9", "h", "9 h", "-1h", "9h!", ""])
def test_invalid_duration_is_rejected(text: str) -> None:
    with pytest.raises(InvalidInputError, match="not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0312, "31.2 ms"), (1.0, "1.0 s"), (59.9, "59.9 s"), (5400, "1.5 h")]
)
def test_durations_are_formatted(seconds: float, text: str) -> None:
    assert duration(seconds) == text
