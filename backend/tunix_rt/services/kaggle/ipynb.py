"""Cells as a notebook: the JSON of nbformat 4.5, the same bytes every time, without outputs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Cell:
    """One cell."""

    id: str
    """Letters, digits and dashes; none twice."""
    kind: Literal["markdown", "code"]
    text: str


def notebook_text(cells: Sequence[Cell], metadata: dict[str, Any]) -> str:
    """The file of a notebook."""
    notebook = {
        "cells": [_cell(cell) for cell in cells],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            **metadata,
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _cell(cell: Cell) -> dict[str, Any]:
    shared = {
        "cell_type": cell.kind,
        "id": cell.id,
        "metadata": {},
        "source": cell.text.splitlines(keepends=True),
    }
    return shared if cell.kind == "markdown" else shared | {"execution_count": None, "outputs": []}
