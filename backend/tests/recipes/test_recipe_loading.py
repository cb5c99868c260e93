"""Loading a recipe, overriding its values and recording every override."""

import json
from pathlib import Path

import pytest

from tunix_rt.base.errors import InvalidInputError, NotFoundError
from tunix_rt.recipes.load import Flag, ResolvedRecipe, load_recipe
from tunix_rt.recipes.types import Override

SMALL = "model: {name: tiny-gemma, weights: random}\ntraining:\n  num_steps: 20\n"


@pytest.fixture
def recipe_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def load_text(tmp_path: Path, text: str, *sets: str) -> ResolvedRecipe:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return load_recipe(path, sets=sets)


def test_defaults_fill_missing_keys(recipe_file: Path) -> None:
    resolved = load_recipe(recipe_file)
    assert resolved.recipe.model.name == "tiny-gemma"
    assert resolved.recipe.training.num_steps == 20
    assert resolved.recipe.data.row_length == 512
    assert resolved.overrides == ()


def test_set_override_is_recorded(recipe_file: Path) -> None:
    resolved = load_recipe(recipe_file, sets=["training.num_steps=5", "training.learning_rate=1e-3"])
    assert resolved.recipe.training.learning_rate == 1e-3
    assert resolved.overrides == (
        Override(key="training.num_steps", recipe_value=20, used_value=5, reason="--set"),
        Override(key="training.learning_rate", recipe_value=2e-5, used_value=1e-3, reason="--set"),
    )


def test_flag_override_records_its_name(recipe_file: Path) -> None:
    resolved = load_recipe(recipe_file, flags={"data.dataset": Flag("dev-reasoning-v2", "--dataset")})
    assert resolved.recipe.data.dataset == "dev-reasoning-v2"
    assert [(o.recipe_value, o.reason) for o in resolved.overrides] == [(None, "--dataset")]


def test_equal_value_records_no_override(recipe_file: Path) -> None:
    assert load_recipe(recipe_file, sets=["training.num_steps=20", "data.row_length=512"]).overrides == ()


def test_conflicting_overrides_are_rejected(recipe_file: Path) -> None:
    flags = {"training.num_steps": Flag(2, "--smoke-steps")}
    with pytest.raises(InvalidInputError, match="given twice: 5 by --set, 2 by --smoke-steps"):
        load_recipe(recipe_file, sets=["training.num_steps=5"], flags=flags)
    assert load_recipe(recipe_file, sets=["training.num_steps=2"], flags=flags).recipe.training.num_steps == 2


@pytest.mark.parametrize("is_reversed", [False, True])
def test_set_order_does_not_matter(recipe_file: Path, is_reversed: bool) -> None:
    sets = ["training.optimizer=adafactor", "training.optimizer.weight_decay=0.1"]
    optimizer = load_recipe(recipe_file, sets=sets[::-1] if is_reversed else sets).recipe.training.optimizer
    assert (optimizer.name, optimizer.weight_decay) == ("adafactor", 0.1)


def test_set_reaches_into_named_optimizer(tmp_path: Path) -> None:
    resolved = load_text(tmp_path, SMALL + "  optimizer: adafactor\n", "training.optimizer.decay_rate=0.7")
    assert resolved.recipe.training.optimizer.model_dump()["decay_rate"] == 0.7


def test_set_parses_lists_sections_and_null(recipe_file: Path) -> None:
    sets = [
        "training.mode=lora",
        "lora.targets=[q, v]",
        "training.max_grad_norm=null",
        "eval={every_steps: 4}",
    ]
    recipe = load_recipe(recipe_file, sets=sets).recipe
    assert recipe.lora is not None
    assert recipe.lora.targets == ("q", "v")
    assert recipe.training.max_grad_norm is None
    assert recipe.eval.every_steps == 4


def test_empty_section_uses_defaults(tmp_path: Path) -> None:
    assert load_text(tmp_path, SMALL + "eval:\n").recipe.eval.every_steps is None


def test_resolved_recipe_round_trips(recipe_file: Path, tmp_path: Path) -> None:
    sets = ["training.mode=qlora", "training.optimizer=adafactor", "lora.targets=[q]"]
    resolved = load_recipe(recipe_file, sets=sets)
    stored = tmp_path / "recipe.resolved.json"
    stored.write_text(json.dumps(resolved.to_json(), ensure_ascii=False, indent=2), encoding="utf-8")
    assert load_recipe(stored) == resolved
    again = load_recipe(stored, sets=["training.seed=3"])
    assert [override.key for override in again.overrides][-1] == "training.seed"
    assert again.overrides[:-1] == resolved.overrides


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("num_stepz: 3", "num_stepz is not a key (did you mean training.num_steps?)"),
        ("  num_stepz: 3", "training.num_stepz is not a key (did you mean training.num_steps?)"),
        ("learning_rate: 1", "learning_rate is not a key (did you mean training.learning_rate?)"),
        ("xyzzy: 1", "xyzzy is not a key (known: model, data, training,"),
        ("  learning_rate: -1", "training.learning_rate must be a number above 0, not -1"),
        ("  learning_rate: fast", "training.learning_rate must be a number above 0, not 'fast'"),
        ("  learning_rate: .nan", "training.learning_rate must be a number above 0, not '.nan'"),
        ("  batch_size: true", "training.batch_size must be a whole number at least 1, not true"),
        ("  batch_size: '8'", "training.batch_size must be a whole number at least 1, not '8'"),
        ("  batch_size: 8.5", "training.batch_size must be a whole number at least 1, not 8.5"),
        ("  donate_buffers: yes", "training.donate_buffers must be true or false, not 'yes'"),
        ("  mode: half", "training.mode must be one of full, lora, qlora, not 'half'"),
        ("  optimizer: sgd", "training.optimizer.name must be one of 'adamw', 'adafactor', not 'sgd'"),
        ("  optimizer: 4", "training.optimizer must be a section of keys, not 4"),
        (
            "  optimizer: {name: adafactor, beta1: 0.5}",
            "training.optimizer.beta1 is a key of the optimizer adamw only",
        ),
        ("sharding: {fsdp: 0}", "sharding.fsdp must be a whole number at least 1 or auto, not 0"),
        ("sharding: {fsdp: auto, data: auto}", "sharding: only one of data, fsdp and tensor may be auto"),
        ("sharding: 8", "sharding must be a section of keys, not 8"),
        ("lora: {rank: 8}", "training.mode full trains no adapters"),
        ("  num_epochs: 1", "training: give either num_epochs or num_steps"),
    ],
)
def test_mistake_names_key_and_constraint(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        load_text(tmp_path, SMALL + line + "\n")
    assert caught.value.detail.startswith(f"mine.yaml is not a recipe that can run: {problem}")
    assert "docs/recipes.md" in caught.value.next_step


def test_all_mistakes_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"model is missing; .*training\.seed .*; sharding\.tensor"):
        load_text(tmp_path, "training: {num_steps: 2, seed: -1}\nsharding: {tensor: 0}\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("# nothing yet\n", "is empty"),
        ("- model\n", "is not a mapping of keys"),
        ("just text", "is not a mapping of keys"),
        (SMALL + "model: {name: other}\n", "line 4: the key 'model' is given twice"),
        (SMALL + "overrides: true\n", "`overrides` is written by a run"),
    ],
)
def test_invalid_recipe_file_is_rejected(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        load_text(tmp_path, text)


def test_non_utf8_file_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes(SMALL.encode() + "# café".encode("latin-1"))
    with pytest.raises(InvalidInputError, match="not UTF-8"):
        load_recipe(path)


def test_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "windows.yaml"
    path.write_bytes(SMALL.encode("utf-8-sig"))
    assert load_recipe(path).recipe.training.num_steps == 20


def test_missing_recipe_suggests_nearest(recipe_file: Path) -> None:
    with pytest.raises(NotFoundError, match=r"Did you mean 'small\.yaml'"):
        load_recipe(recipe_file.with_name("smal.yaml"))
    with pytest.raises(InvalidInputError, match="Is a directory"):
        load_recipe(recipe_file.parent)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("training.num_stepz=3", "did you mean training.num_steps"),
        ("training.num_steps", "has no value"),
        ("=3", "has no value"),
        ("training.num_steps.more=3", "training.num_steps.more is not a key"),
        ("training.num_steps=", "give either num_epochs or num_steps"),
        ("lora.targets=[q", "--set lora.targets, line 1"),
    ],
)
def test_invalid_set_is_rejected(recipe_file: Path, text: str, problem: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        load_recipe(recipe_file, sets=[text])
    assert problem in caught.value.detail


def test_set_does_not_hide_invalid_section(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="training must be a section of keys, not 5"):
        load_text(tmp_path, "model: {name: tiny-gemma}\ntraining: 5\n", "training.num_steps=3")


def test_published_target_names_are_translated(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError) as raised:
        load_text(tmp_path, SMALL + "lora: {targets: [q_proj, up_proj]}\n")
    assert "'q_proj' is written 'q' here; lora.targets: 'up_proj' is written 'up' here." in str(raised.value)


def test_too_large_count_names_limit(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="batch_size must be at most 2,147,483,647, not 2147483648"):
        load_text(tmp_path, SMALL + "  batch_size: 2147483648\n")
