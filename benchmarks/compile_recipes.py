"""Asks the TPU compiler what every shipped recipe needs on one chip and on eight, and writes it down.

    python -m benchmarks.compile_recipes [RECIPE ...]    needs the extra tpu-plan, no accelerator

A step takes one to five CPU-minutes. Figures of recipes that have not changed are kept unless the recipe is
named. docs/training-modes.md is made from the file: `make docs`.
"""

import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.compile_steps import compiled
from tunix_rt.config.recipe_loading import load_recipe
from tunix_rt.core.errors import InvalidInputError
from tunix_rt.core.targets import GIB
from tunix_rt.files.assets import shipped_recipe_names, shipped_recipe_path
from tunix_rt.files.atomic import write_json_atomically

RESULTS = Path(__file__).parent / "results" / "compiled_recipes.json"
TARGETS = ("v5e-1", "v5e-8")


def main(names: list[str]) -> None:
    """Compile what is missing, changed or named."""
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    for name, target in product(names or shipped_recipe_names(), TARGETS):
        values, before = recipe_values(name), known.get(name, {}).get(target)
        if before is None or before["recipe"] != values or names:
            known.setdefault(name, {})[target] = {"recipe": values, **_answer(target, values)}
            write_json_atomically(RESULTS, dict(sorted(known.items())))
            print(f"{name:24} {target}: {_figure(known[name][target])}", flush=True)


def recipe_values(name: str) -> dict[str, Any]:
    """A shipped recipe as plain values, every default included."""
    return load_recipe(shipped_recipe_path(name)).recipe.model_dump(mode="json")


def _answer(target: str, values: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"compiled": compiled(target, values)}
    except InvalidInputError as error:
        return {"refused": error.detail}


def _figure(case: dict[str, Any]) -> str:
    if "refused" in case:
        return case["refused"]
    step = case["compiled"]
    return f"{step['total_bytes'] / GIB:.2f} GiB, compiled in {step['compile_seconds']:.0f} s"


if __name__ == "__main__":
    main(sys.argv[1:])
