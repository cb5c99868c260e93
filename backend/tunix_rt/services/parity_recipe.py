"""The recipe that two engines can be compared by: float32 on one CPU, nothing left to chance."""

from pathlib import Path

from pydantic import JsonValue

from tunix_rt.recipes.load import Flag, ResolvedRecipe, load_recipe
from tunix_rt.recipes.types import VALIDATION, Recipe

_REASON = "--parity"


def load_parity_recipe(
    path: Path, *, dataset: str | None, num_steps: int, sets: tuple[str, ...]
) -> ResolvedRecipe:
    """The recipe with everything changed that keeps two engines from giving the same numbers.

    Every change is an override. What a run learns stays the recipe's: data, order, optimizer, schedule.
    """
    flags = {} if dataset is None else {"data.dataset": Flag(dataset, "--dataset")}
    recipe = load_recipe(path, sets=sets, flags=flags).recipe
    return load_recipe(path, sets=sets, flags={**flags, **_parity_flags(recipe, num_steps)})


def from_saved_weights(resolved: ResolvedRecipe, directory: Path) -> ResolvedRecipe:
    """The same recipe, starting from weights that were written to a directory."""
    model = resolved.recipe.model.model_copy(update={"name": str(directory), "weights": "pretrained"})
    return resolved.model_copy(update={"recipe": resolved.recipe.model_copy(update={"model": model})})


def _parity_flags(recipe: Recipe, num_steps: int) -> dict[str, Flag]:
    values: dict[str, JsonValue] = {
        "training.precision.compute": "float32",
        "training.precision.weights": "float32",
        "training.precision.optimizer_state": "float32",
        "training.precision.stochastic_rounding": False,
        "training.attention": "auto",
        "sharding.data": 1,
        "sharding.fsdp": "auto",
        "sharding.tensor": 1,
    }
    if recipe.lora is not None:
        values |= {"lora.dropout": 0.0}  # each engine draws its own
    if recipe.quantization is not None:
        # Each engine rounds blocks of its own layout; everything else of QLoRA is LoRA.
        values |= {"training.mode": "lora", "quantization": None}
    flags = {key: Flag(value, _REASON) for key, value in values.items()}
    return flags | short_run_flags(recipe, num_steps, _REASON)


def short_run_flags(recipe: Recipe, num_steps: int, reason: str) -> dict[str, Flag]:
    """So many steps, each of them logged; no validation, and no checkpoint but the last."""
    values: dict[str, JsonValue] = {
        "eval.every_steps": None,
        "eval.split": VALIDATION,
        "eval.max_batches": None,
        "eval.early_stop_patience": None,
        "output.log_every_steps": 1,
        "output.save_every_steps": None,
        "output.model": "final",
    }
    length: dict[str, JsonValue] = {
        "training.num_steps": num_steps,
        "training.num_epochs": None,
        "training.warmup_steps": min(recipe.training.warmup_steps, num_steps),
    }
    flags = {key: Flag(value, reason) for key, value in values.items()}
    return flags | {key: Flag(value, "--steps") for key, value in length.items()}
