"""The generated notebook, run by Jupyter in smoke mode: one run that passes and one that fails."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from support.children import environment, run_here
from support.notebooks import make_notebook

from tunix_rt.base.assets import shipped_recipe_path
from tunix_rt.base.settings import Settings

TIMEOUT_S = 600


def settings_in(directory: Path) -> Settings:
    return Settings(home=directory / "home")


@pytest.fixture
def jupyter_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of a kernel that finds our commands and writes only below `tmp_path`."""
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / "jupyter"))
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # The packages of the first cell are installed already: pip needs no index.
    offline = {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return environment(settings_in(tmp_path), PATH=programs, OMP_NUM_THREADS="1", **offline)


def run_notebook(notebook: Any, directory: Path, environ: dict[str, str]) -> None:
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(directory)}},
    )
    client.execute(env=environ)


def executed_cells(notebook: Any) -> list[str]:
    """Return the first words of each executed cell."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.execution_count]
    return [" ".join(cell.source.split()[1:3]) for cell in code]


def test_notebook_produces_valid_evidence(tmp_path: Path, jupyter_environment: dict[str, str]) -> None:
    generated = make_notebook(tmp_path / "home", "smoke_tiny", target="local", is_smoke=True)
    notebook = nbformat.reads(generated.text, as_version=4)
    run_notebook(notebook, tmp_path, jupyter_environment)
    assert executed_cells(notebook)[2:] == [
        "tunix-rt doctor",
        "tunix-rt kaggle",
        "tunix-rt train",
        "tunix-rt train",
        "tunix-rt eval",
        "tunix-rt evidence",
    ]
    manifest = json.loads((tmp_path / "runs" / "full" / "run_manifest.json").read_bytes())
    assert (manifest["status"], manifest["recipe"]) == ("succeeded", "smoke_tiny")
    assert (tmp_path / "evidence" / "model" / "model.safetensors").is_file()
    verified = run_here("evidence", "verify", tmp_path / "evidence", settings=settings_in(tmp_path))
    assert verified.returncode == 0, verified.stdout


def test_failing_run_stops_the_notebook(tmp_path: Path, jupyter_environment: dict[str, str]) -> None:
    recipe = tmp_path / "diverging.yaml"
    smoke = shipped_recipe_path("smoke_tiny").read_text(encoding="utf-8")
    recipe.write_text(smoke.replace("learning_rate: 1e-3", "learning_rate: 1e30"), encoding="utf-8")
    generated = make_notebook(tmp_path / "home", file=recipe, target="local", is_smoke=True)
    notebook = nbformat.reads(generated.text, as_version=4)
    # The other test runs the earlier cells.
    already_run = ("pip ", "doctor", "preflight", "smoke_tiny")
    notebook.cells = [cell for cell in notebook.cells if not any(word in cell.source for word in already_run)]
    with pytest.raises(CellExecutionError, match="exit status 6"):
        run_notebook(notebook, tmp_path, jupyter_environment)
    assert executed_cells(notebook)[-1] == "tunix-rt train"
    training = next(cell for cell in notebook.cells if "runs/full" in cell.source)
    output_text = "".join(output.get("text", "") for output in training.outputs)
    assert "error: " in output_text
    assert "next:  " in output_text
    failure = json.loads((tmp_path / "runs" / "full" / "run_manifest.json").read_bytes())["failure"]
    assert failure["code"] == "diverged"
    assert failure["detail"] in output_text
    report = ("evidence", "pack", tmp_path / "runs" / "full", "--failure-report", "--to", tmp_path / "report")
    packed = run_here(*report, settings=settings_in(tmp_path))
    assert packed.returncode == 0, packed.stderr
    assert json.loads((tmp_path / "report" / "evidence.json").read_bytes())["kind"] == "failure-report"


def test_missing_tpu_fails_the_preflight(tmp_path: Path) -> None:
    done = run_here("kaggle", "preflight", "submission_tpu", "--json", settings=settings_in(tmp_path))
    assert done.returncode == 4
    (check,) = json.loads(done.stdout)["checks"]
    assert (check["name"], check["passed"]) == ("devices", False)
    assert json.loads(done.stderr)["detail"] == check["detail"]
