"""Push and pull with Kaggle's own client, over HTTP, against a local stand-in for the Kaggle API."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from support.children import run_program
from support.kaggle_api import KaggleStandIn, kaggle_stand_in
from support.notebooks import make_notebook

from tunix_rt.base.errors import InvalidInputError, MissingExtraError
from tunix_rt.engines.training.types import OUT_OF_TIME_TEXT
from tunix_rt.kaggle.kernels import push_kernel

Kaggle = Callable[..., "CompletedProcess[str]"]


@pytest.fixture
def stand_in() -> Iterator[KaggleStandIn]:
    with kaggle_stand_in() as started:
        yield started


@pytest.fixture
def kaggle(stand_in: KaggleStandIn, tmp_path: Path) -> Kaggle:
    """Run `tunix-rt kaggle …` in a subprocess that connects to the stand-in."""

    def run(*arguments: str | Path, is_logged_in: bool = True) -> "CompletedProcess[str]":
        return run_program("kaggle", *arguments, **stand_in.environ(tmp_path, is_logged_in=is_logged_in))

    return run


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    path = tmp_path / "submission.ipynb"
    path.write_text(make_notebook(tmp_path / "home").text, encoding="utf-8")
    return path


def test_push_requests_private_tpu_kernel(kaggle: Kaggle, stand_in: KaggleStandIn, notebook: Path) -> None:
    done = kaggle("push", notebook, "--to", "me/my-training", "--dataset", "me/my-wheels", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "kernel": "me/my-training",
        "url": "https://www.kaggle.com/code/me/my-training",
        "version": 1,
    }
    ((verb, sent),) = stand_in.requests
    assert verb == "SaveKernel"
    assert (sent["machineShape"], sent["enableTpu"], sent["isPrivate"]) == ("TpuV5E8", True, True)
    assert (sent["slug"], sent["datasetDataSources"]) == ("me/my-training", ["me/my-wheels"])
    assert len(json.loads(sent["text"])["cells"]) == len(json.loads(notebook.read_bytes())["cells"])


def test_rejected_push_reports_reason(kaggle: Kaggle, stand_in: KaggleStandIn, notebook: Path) -> None:
    stand_in.push_error = "Maximum weekly TPU quota of 20 hours reached."
    done = kaggle("push", notebook, "--to", "me/my-training")
    assert done.returncode == 1
    assert "quota of 20 hours reached" in done.stderr


def test_missing_credentials_explain_the_setup(kaggle: Kaggle, notebook: Path) -> None:
    done = kaggle("push", notebook, "--to", "me/my-training", is_logged_in=False)
    assert done.returncode == 2
    assert "no credentials" in done.stderr
    assert "KAGGLE_API_TOKEN" in done.stderr


def test_pull_fetches_evidence_and_log(kaggle: Kaggle, stand_in: KaggleStandIn, tmp_path: Path) -> None:
    stand_in.files = {"evidence/evidence.json": "{}", "runs/full/log.txt": "step 1"}
    stand_in.log = "full output"
    done = kaggle("pull", "me/my-training", "--to", tmp_path / "back", "--wait")
    assert done.returncode == 0, done.stderr
    assert f"evidence verify {tmp_path / 'back' / 'evidence'}" in done.stdout.replace("\n", "")
    assert (tmp_path / "back" / "runs" / "full" / "log.txt").read_text() == "step 1"
    assert (tmp_path / "back" / "my-training.log").read_text() == "full output"


def test_pull_explains_a_failed_notebook(kaggle: Kaggle, stand_in: KaggleStandIn, tmp_path: Path) -> None:
    stand_in.statuses = ["ERROR"]
    stand_in.log = '[{"stream_name":"stderr","data":"error: The loss is not finite.\\nnext:  Lower it.\\n"}]'
    done = kaggle("pull", "me/my-training", "--to", tmp_path / "back")
    assert done.returncode == 1
    assert "failed on Kaggle: The loss is not finite." in done.stderr
    assert (tmp_path / "back" / "my-training.log").is_file()


def test_out_of_time_session_suggests_continue(
    kaggle: Kaggle, stand_in: KaggleStandIn, tmp_path: Path
) -> None:
    stand_in.statuses = ["ERROR"]
    stand_in.log = f"{OUT_OF_TIME_TEXT}; run the same command with --resume to continue"
    done = kaggle("pull", "me/my-training", "--to", tmp_path / "back")
    assert done.returncode == 1
    assert "--continue me/my-training" in done.stderr


def test_running_notebook_is_not_fetched(kaggle: Kaggle, stand_in: KaggleStandIn, tmp_path: Path) -> None:
    stand_in.statuses = ["RUNNING"]
    done = kaggle("pull", "me/my-training", "--to", tmp_path / "back")
    assert done.returncode == 1
    assert "has not ended: running" in done.stderr
    assert not (tmp_path / "back").exists()


def test_unknown_notebook_exits_2(kaggle: Kaggle) -> None:
    done = kaggle("pull", "me/my-other-one")
    assert done.returncode == 2
    assert "no notebook me/my-other-one" in done.stderr


@pytest.mark.parametrize("address", ["training", "me/My Training", "me/abc", "../me/training"])
def test_invalid_address_is_refused(notebook: Path, address: str) -> None:
    with pytest.raises(InvalidInputError, match="not the address"):
        push_kernel(notebook, address)


@pytest.mark.parametrize("text", [None, "{}", "not JSON"])
def test_foreign_notebook_is_refused(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "other.ipynb"
    if text is not None:
        file.write_text(text)
    with pytest.raises(InvalidInputError, match="notebook"):
        push_kernel(file, "me/my-training")


def test_missing_client_names_the_extra(monkeypatch: pytest.MonkeyPatch, notebook: Path) -> None:
    monkeypatch.setitem(sys.modules, "kaggle.api.kaggle_api_extended", None)
    monkeypatch.setitem(sys.modules, "kaggle", None)
    with pytest.raises(MissingExtraError, match=r"tunix-rt\[kaggle\]"):
        push_kernel(notebook, "me/my-training")
