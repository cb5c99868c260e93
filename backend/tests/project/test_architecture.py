"""The architecture is enforced: import contracts that can fail, and files of bounded size."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "backend" / "tunix_rt"
MAX_FILE_LINES = 600
MIN_FILE_LINES = 40
MAX_SIBLINGS = 15
MAX_FUNCTION_LINES = 60


def python_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def is_exempt(path: Path) -> bool:
    """Return whether a file may be short: a package docstring, a migration or a `python -m` entry point."""
    text = path.read_text()
    return (
        path.name in ("__init__.py", "__main__.py")
        or "migrations" in path.parts
        or 'if __name__ == "__main__":' in text
    )


def test_file_lengths_are_bounded() -> None:
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in python_files()}
    assert {name: count for name, count in lines.items() if count > MAX_FILE_LINES} == {}
    short = {name: count for name, count in lines.items() if count < MIN_FILE_LINES}
    assert {name: count for name, count in short.items() if not is_exempt(ROOT / name)} == {}


def test_package_sizes_are_bounded() -> None:
    siblings = {
        str(folder.relative_to(ROOT)): sum(
            (path / "__init__.py").exists() or (path.suffix == ".py" and path.name != "__init__.py")
            for path in folder.iterdir()
        )
        for folder in {path.parent for path in python_files()}
    }
    # The root package holds the features, however many there are.
    siblings.pop(str(PACKAGE.relative_to(ROOT)))
    assert {name: count for name, count in siblings.items() if count > MAX_SIBLINGS} == {}


def test_types_import_only_base_and_types() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {module}"
        for path in python_files()
        if path.name == "types.py"
        for module in imported_modules(path)
        if module.startswith("tunix_rt.")
        and not module.startswith("tunix_rt.base.")
        and module.rpartition(".")[2] != "types"
    ]
    assert wrong == []


def imported_modules(path: Path) -> list[str]:
    return [
        node.module or ""
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
    ]


def test_function_lengths_are_bounded() -> None:
    too_long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in python_files()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= MAX_FUNCTION_LINES
    ]
    assert too_long == []


@pytest.fixture(scope="module")
def tree_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
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


def test_import_contracts_hold(tree_copy: Path) -> None:
    done = lint_imports(tree_copy)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("traces/store.py", "import tunix_rt.datasets.files", "Features point one way"),
        ("recipes/keys.py", "import tunix_rt.problems.family", "Features point one way"),
        ("tools/__init__.py", "", "Features point one way"),
        (
            "engines/weights/sources.py",
            "import tunix_rt.engines.training.run",
            "Inside the engines: shared parts, then jax or torch, then the loader",
        ),
        (
            "engines/torch/training/step.py",
            "import tunix_rt.engines.jax.training.step",
            "Inside the engines: shared parts, then jax or torch, then the loader",
        ),
        (
            "traces/linter/rationals.py",
            "import tunix_rt.traces.linter.linter",
            "No cycles between siblings, at any depth",
        ),
        ("cli/main.py", "import optax", "JAX lives in its engine"),
        ("engines/torch/training/step.py", "import jax", "JAX lives in its engine"),
        ("engines/training/loop.py", "import transformers", "Torch lives in its engine"),
        ("engines/jax/model/decoder.py", "import torch", "Torch lives in its engine"),
        (
            "engines/planning/service.py",
            "import tunix_rt.engines.jax.engine",
            "Only the loader imports an engine",
        ),
        (
            "runs/worker/loop.py",
            "import tunix_rt.engines.load",
            "Only commands and child processes load an engine",
        ),
        (
            "engines/training/run.py",
            "import accelerate",
            "The server and the worker never load an accelerator library",
        ),
        ("traces/service.py", "import fastapi", "FastAPI only in routes, base.http and api"),
        ("traces/service.py", "import sqlalchemy", "SQL only in stores and base.db"),
        ("traces/views.py", "import typer", "Typer only in commands, base.terminal and cli"),
        ("runs/worker/loop.py", "import ray", "Ray lives in its executor"),
        (
            "traces/service.py",
            "import tunix_rt.base.http.routing",
            "HTTP helpers are for routes, routes are for the app",
        ),
        (
            "traces/service.py",
            "import tunix_rt.base.terminal.output",
            "Terminal helpers are for commands and views",
        ),
        ("traces/service.py", "import tunix_rt.traces.commands", "Commands are for the command line"),
        ("traces/types.py", "import numpy", "Types need pydantic and the standard library only"),
        ("traces/types.py", "import tunix_rt.traces.store", "Types know no other files of a feature"),
        (
            "runs/executors/supervisor.py",
            "import tunix_rt.base.errors",
            "Supervisor and Ray bootstrap need the standard library only",
        ),
    ],
)
def test_each_import_contract_can_fail(tree_copy: Path, file: str, line: str, contract: str) -> None:
    path = tree_copy / "tunix_rt" / file
    before = path.read_text() if path.exists() else None
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{before or ''}\n{line}\n")
    try:
        done = lint_imports(tree_copy)
    finally:
        if before is not None:
            path.write_text(before)
        else:
            shutil.rmtree(path.parent)
    assert done.returncode == 1, done.stdout
    assert f"{contract} BROKEN" in done.stdout
