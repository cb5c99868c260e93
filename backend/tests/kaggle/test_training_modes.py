"""docs/training-modes.md shows the compilers' figures for the current recipes."""

import re
from pathlib import Path

import pytest
from support.training_modes_page import CHIPS, compiled_recipes, gpu_table, seed_table, shipped, tpu_table

from tunix_rt.base.assets import shipped_recipe_names

PAGE = Path(__file__).parents[3] / "docs" / "training-modes.md"


def test_machine_tables_match_compiler_and_planner(request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name, table in {"tpu": tpu_table(), "gpu": gpu_table(), "seed": seed_table()}.items():
        before, marker, after = text.partition(f"<!-- {name} -->\n")
        assert marker, name
        text = before + marker + table + re.sub(r"\A(\|.*\n)*", "", after)
    if request.config.getoption("--update-golden"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text, "stale: run make docs"


def test_compiler_memory_verdicts() -> None:
    compiled = compiled_recipes()
    assert not compiled["seed_m38_tpu"]["v5e-8"]["compiled"]["fits"]
    assert compiled["submission_tpu"]["v5e-8"]["compiled"]["fits"]


def test_compiled_recipes_match_shipped_ones() -> None:
    for name, cases in compiled_recipes().items():
        assert name in shipped_recipe_names()
        assert set(cases) <= set(CHIPS)
        assert all(case["recipe"] == shipped(name).model_dump(mode="json") for case in cases.values())
