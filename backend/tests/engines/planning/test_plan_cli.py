"""`tunix-rt plan` as people and programs use it; the compiler is left out with --fast."""

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
    return write(tmp_path / "recipe.json", **{"data.dataset": "dev-reasoning-v2", "data.row_length": 2048})


@pytest.fixture
def seed(tmp_path: Path) -> Path:
    return write(tmp_path / "seed.json", **SEED_KEYS)


def write(path: Path, **keys: object) -> Path:
    path.write_text(make_recipe(**keys).model_dump_json(), encoding="utf-8")
    return path


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["plan", *map(str, arguments), "--fast"])


def failure(*arguments: str | Path) -> TunixRTError:
    error = invoke(*arguments).exception
    assert isinstance(error, TunixRTError), error
    return error


def test_programs_get_the_documented_keys_and_the_verdict_as_exit_code(seed: Path, recipe: Path) -> None:
    does_not = invoke(seed, "--on", "v5e-8", "--json")
    assert does_not.exit_code == 1
    plan = json.loads(does_not.stdout)
    documented = {"fits", "per_device_bytes", "limit_bytes", "components", "source", "step_seconds"}
    assert documented | {"total_seconds", "fixes"} <= plan.keys()
    assert {"weights", "gradients", "optimizer_state", "activations", "logits", "temporaries"} <= plan[
        "components"
    ].keys()
    assert plan["source"] == "estimated"
    assert invoke(recipe, "--on", "v5e-8", "--json").exit_code == 0


def test_people_see_the_verdict_a_bar_per_component_and_what_to_type(seed: Path) -> None:
    text = invoke(seed, "--on", "v5e-8").stdout
    assert text.startswith("Does not fit: 28.0")
    assert "limit             15.75 GiB  ███" in text
    assert "--set training.optimizer=adafactor" in text
    assert "1 of 8 devices used" in text


def test_a_suggestion_that_is_typed_makes_it_fit(seed: Path) -> None:
    assert invoke(seed, "--on", "v5e-8", "--set", "training.mode=lora").exit_code == 0


def test_a_session_that_is_too_short_is_a_verdict_too(recipe: Path) -> None:
    assert invoke(recipe, "--on", "v5e-8", "--session", "9h").exit_code == 0
    short = invoke(recipe, "--on", "v5e-8", "--session", "1s")
    assert short.exit_code == 1
    assert "longer than the session of 1.0 s" in short.stdout


def test_the_dataset_may_be_given_on_the_command_line(seed: Path) -> None:
    assert isinstance(failure(seed, "--on", "v5e-8", "--dataset", "nobody-v9"), NotFoundError)


@pytest.mark.parametrize("on", ["v5e", "tpu", "RTX4090"])
def test_an_unknown_target_is_refused(seed: Path, on: str) -> None:
    assert isinstance(failure(seed, "--on", on), InvalidInputError)


@pytest.mark.parametrize(("text", "seconds"), [("9h", 32_400), ("1h30m", 5_400), ("1.5m", 90), ("45s", 45)])
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["9", "h", "9 h", "-1h", "9h!", ""])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0312, "31.2 ms"), (1.0, "1.0 s"), (59.9, "59.9 s"), (5400, "1.5 h")]
)
def test_durations_are_written(seconds: float, text: str) -> None:
    assert duration(seconds) == text
