"""Asks the TPU compiler what every shipped recipe needs on one chip and on eight, and writes it down.

    python -m benchmarks.compile_recipes [RECIPE ...]    needs the extra tpu-plan, no accelerator

A step takes one to five CPU-minutes. One that the same compiler has compiled before, for this recipe or for
another one, is not compiled again unless the recipe is named. `make docs` makes docs/training-modes.md of it.
"""

import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks import compile_steps
from tunix_rt.base.assets import shipped_recipe_names, shipped_recipe_path
from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.files.atomic import write_json_atomically
from tunix_rt.engines.planning.compile import compiler_versions, step_identity
from tunix_rt.engines.planning.targets import GIB
from tunix_rt.recipes.load import load_recipe

RESULTS = Path(__file__).parent / "results" / "compiled_recipes.json"
TARGETS = ("v5e-1", "v5e-8")

Case = dict[str, Any]
"""A recipe, and what the compiler said about it."""


def main(names: list[str]) -> None:
    """Compile what is missing, changed or named."""
    known: dict[str, dict[str, Case]] = _read(RESULTS) if RESULTS.is_file() else {}
    for name, target in product(names or shipped_recipe_names(), TARGETS):
        values, before = recipe_values(name), known.get(name, {}).get(target)
        if names or before is None or before["recipe"] != values:
            answer = (None if names else _same_step(known, target, values)) or _compiled(target, values)
            known.setdefault(name, {})[target] = {"recipe": values, **answer}
            write_json_atomically(RESULTS, dict(sorted(known.items())))
            print(f"{name:24} {target}: {_figure(known[name][target])}", flush=True)


def recipe_values(name: str) -> dict[str, Any]:
    """A shipped recipe as plain values, every default included."""
    return load_recipe(shipped_recipe_path(name)).recipe.model_dump(mode="json")


def _same_step(known: dict[str, dict[str, Case]], target: str, values: dict[str, Any]) -> Case | None:
    """What the same compiler said about the same step of another recipe."""
    own = [case for cases in known.values() for name, case in cases.items() if name == target]
    steps = [case for case in _read(compile_steps.RESULTS).values() if case["target"] == target]
    for case in own + steps:
        is_known = "compiled" in case and case["compiled"]["compiler"] == compiler_versions()
        if is_known and _identity(target, case["recipe"]) == _identity(target, values):
            return {"compiled": case["compiled"]}
    return None


def _identity(target: str, values: dict[str, Any]) -> dict[str, object]:
    return step_identity(compile_steps.compile_request(target, values))


def _compiled(target: str, values: dict[str, Any]) -> Case:
    try:
        return {"compiled": compile_steps.compiled(target, values)}
    except InvalidInputError as error:
        return {"refused": error.detail}


def _figure(case: Case) -> str:
    if "refused" in case:
        return str(case["refused"])
    step = case["compiled"]
    return f"{step['total_bytes'] / GIB:.2f} GiB, compiled in {step['compile_seconds']:.0f} s"


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


if __name__ == "__main__":
    main(sys.argv[1:])
