"""Notebooks generated from recipes, one command per cell."""

import json
from pathlib import Path

import nbformat
import pytest
from support.datasets import build, sums
from support.notebooks import code_cells, make_notebook

from tunix_rt.base.errors import DoesNotFitError, InvalidInputError

COMMITTED = Path(__file__).parents[3] / "notebooks" / "kaggle_submission.ipynb"


@pytest.fixture
def notebook(tmp_path: Path) -> str:
    return make_notebook(tmp_path, model="kaggle:google/gemma/transformers/2b").text


def test_committed_notebook_is_fresh(notebook: str, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        COMMITTED.write_text(notebook, encoding="utf-8")
    assert COMMITTED.read_text(encoding="utf-8") == notebook, "stale: run make docs"


def test_notebook_is_valid_without_outputs(notebook: str) -> None:
    nbformat.validate(nbformat.reads(notebook, as_version=4))
    code = [cell for cell in json.loads(notebook)["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def test_each_cell_runs_one_command(notebook: str) -> None:
    install, recipe, *stages = code_cells(notebook)
    assert install == "%%bash\npip install --quiet 'tunix-rt[tpu-plan,kaggle]==0.1.0'"
    assert recipe.startswith("%%writefile submission_tpu.yaml\n")
    for stage in stages:
        magic, command = stage.split("\n", 1)
        assert magic == "%%bash"
        assert command.startswith("tunix-rt ")
        assert not set(";|&$`") & set(command)
    assert [stage.split()[2] for stage in stages] == [
        "doctor",
        "kaggle",
        "train",
        "train",
        "eval",
        "evidence",
    ]


def test_training_has_resumable_time_limit(notebook: str) -> None:
    training = next(cell for cell in code_cells(notebook) if "runs/full" in cell)
    assert "--resume" in training
    assert "--stop-after 8h15m" in training


def test_short_session_stops_earlier(tmp_path: Path) -> None:
    changes = ("training.batch_size=8", "training.num_epochs=4000", "output.save_every_steps=null")
    generated = make_notebook(tmp_path, "lora_gemma_2b", hours=3.0, sets=changes)
    training = next(cell for cell in code_cells(generated.text) if "runs/full" in cell)
    assert "--stop-after 2h15m" in training
    assert f"--set output.save_every_steps={generated.session.save_every_steps}" in training
    assert "/kaggle/working/runs/full" in training
    assert f"--sessions {generated.session.num_sessions}" in generated.text


def test_continued_session_copies_previous_runs(tmp_path: Path) -> None:
    generated = make_notebook(
        tmp_path, "lora_gemma_2b", sets=("training.batch_size=8",), continues_from="me/my-training"
    )
    assert "%%bash\ncp --recursive /kaggle/input/my-training/runs /kaggle/working" in code_cells(
        generated.text
    )
    assert json.loads(generated.text)["metadata"]["tunix_rt"]["kernel_sources"] == ["me/my-training"]


def test_data_file_becomes_the_dataset(tmp_path: Path) -> None:
    build(tmp_path, sums(8), dataset_name="mine", dataset_version="v2")
    changes = ("data.dataset=mine-v2", "eval.every_steps=null")
    with pytest.raises(InvalidInputError, match="mine-v2 is only on this machine"):
        make_notebook(tmp_path, sets=changes)
    generated = make_notebook(tmp_path, sets=changes, data_file="/kaggle/input/mine/rows.jsonl")
    ingest = "%%bash\ntunix-rt data ingest /kaggle/input/mine/rows.jsonl --name mine --version v2"
    assert ingest in code_cells(generated.text)


def test_oversized_recipe_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DoesNotFitError, match="GiB") as refusal:
        make_notebook(tmp_path, "seed_m38_tpu")
    assert "--set" in refusal.value.next_step


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": "h200"}, "no 'h200'"),
        ({"hours": 0.0}, "longer than 0 hours"),
        ({"continues_from": "my-training"}, "not the address"),
        ({"sets": ("data.dataset=null",)}, "names no dataset"),
    ],
)
def test_invalid_arguments_are_refused(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        make_notebook(tmp_path, **changes)
