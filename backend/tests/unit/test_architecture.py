"""The house stays as it is drawn: layers that can fail, files that fit in the head."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "backend" / "tunix_rt"
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60


def python_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def test_a_file_fits_in_the_head() -> None:
    too_long = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in python_files()}
    assert {name: lines for name, lines in too_long.items() if lines > MAX_FILE_LINES} == {}


def test_a_function_fits_on_the_screen() -> None:
    too_long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in python_files()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= MAX_FUNCTION_LINES
    ]
    assert too_long == []


@pytest.fixture(scope="module")
def copy_of_the_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("tree")
    shutil.copytree(
        PACKAGE, copy / "tunix_rt", ignore=shutil.ignore_patterns("__pycache__", "assets", "templates")
    )
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


def lint_imports(tree: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    environment = os.environ | {"PYTHONPATH": str(tree)}
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)


def test_the_tree_keeps_its_import_rules(copy_of_the_tree: Path) -> None:
    done = lint_imports(copy_of_the_tree)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("core/trace.py", "import tunix_rt.base.home", "Layers point one way"),
        ("db/engine.py", "import tunix_rt.base.files.atomic", "Layers point one way"),
        ("tools/__init__.py", "", "Layers point one way"),
        ("services/traces.py", "import torch", "Only engines may import an accelerator library"),
        ("engines/batching.py", "import jax", "JAX lives in its engine"),
        ("cli/main.py", "import optax", "JAX lives in its engine"),
        (
            "services/traces.py",
            "import tunix_rt.engines.jax.model.decoder",
            "Only the command line starts an engine",
        ),
        (
            "services/traces.py",
            "import tunix_rt.engines.torch.training.step",
            "Only the command line starts an engine",
        ),
        ("engines/batching.py", "import transformers", "Torch lives in its engine"),
        ("engines/torch/step.py", "import tunix_rt.engines.jax.model.decoder", "The two engines never meet"),
        ("engines/jax/model.py", "import torch", "The JAX engine needs no torch"),
        ("engines/torch/step.py", "import jax", "The torch engine needs no JAX"),
        ("evals/__init__.py", "import sqlalchemy", "Only api knows HTTP, only db knows SQL"),
        ("core/trace.py", "import numpy", "The core needs pydantic and the standard library only"),
    ],
)
def test_each_import_rule_can_fail(copy_of_the_tree: Path, file: str, line: str, contract: str) -> None:
    path = copy_of_the_tree / "tunix_rt" / file
    before = path.read_text() if path.exists() else None
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{before or ''}\n{line}\n")
    try:
        done = lint_imports(copy_of_the_tree)
    finally:
        if before is not None:
            path.write_text(before)
        else:
            shutil.rmtree(path.parent)
    assert done.returncode == 1, done.stdout
    assert f"{contract} BROKEN" in done.stdout
