"""Run directories, as far as datasets care: which runs use one."""

import json
from pathlib import Path

RECIPE_FILE = "recipe.resolved.json"


def runs_using_dataset(runs_dir: Path, key: str) -> list[str]:
    """The ids of the runs whose resolved recipe names the dataset, sorted."""
    recipes = runs_dir.glob(f"*/{RECIPE_FILE}")
    return sorted(recipe.parent.name for recipe in recipes if _dataset_of(recipe) == key)


def _dataset_of(recipe: Path) -> str | None:
    try:
        value = json.loads(recipe.read_bytes())
    except (ValueError, FileNotFoundError):
        return None  # being written, or removed meanwhile
    data = value.get("data") if isinstance(value, dict) else None
    return data.get("dataset") if isinstance(data, dict) else None
