"""Write notebooks for recipes and read their cells."""

import json
from pathlib import Path
from typing import Any

from tunix_rt.base.assets import shipped_recipe_path
from tunix_rt.base.settings import Settings
from tunix_rt.kaggle.notebook import NotebookRequest, WrittenNotebook, write_notebook
from tunix_rt.kaggle.session import DEFAULT_HOURS


def make_notebook(
    home: Path, recipe: str = "submission_tpu", *, file: Path | None = None, **changes: Any
) -> WrittenNotebook:
    """Write the notebook of a shipped recipe or of a recipe file."""
    path = file or shipped_recipe_path(recipe)
    request = NotebookRequest(
        **{
            "recipe_name": path.stem,
            "recipe_text": path.read_text(encoding="utf-8"),
            "target": "v5e-8",
            "hours": DEFAULT_HOURS,
            **changes,
        }
    )
    return write_notebook(Settings(home=home), path, request, is_fast=True)


def code_cells(notebook: str) -> list[str]:
    """Return the text of the code cells, in order."""
    cells = json.loads(notebook)["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
