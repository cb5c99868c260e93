"""Two gloo processes train like one, with replicated and with sharded weights."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from support.children import free_port
from support.programs import tiny_recipe
from support.torch_host_child import CASES, DATA, trained
from support.torch_steps import largest_difference

TESTS = Path(__file__).parents[2]
TIMEOUT_S = 300
CLOSE = 1e-5

each_case = pytest.mark.parametrize("name", list(CASES))


def start_process(address: str, process_id: int, output: Path) -> "subprocess.Popen[str]":
    paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-m", "support.torch_host_child", address, str(process_id), str(output)],
        env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output directory of two processes that trained together."""
    output = tmp_path_factory.mktemp("outputs")
    address = f"127.0.0.1:{free_port()}"
    processes = [start_process(address, process_id, output) for process_id in range(2)]
    try:
        errors = [process.communicate(timeout=TIMEOUT_S)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], "\n".join(errors)
    return output


def read_report(outputs: Path, process_id: int, name: str) -> Any:
    return json.loads((outputs / f"{process_id}.json").read_text())[name]


@each_case
def test_two_processes_match_one(outputs: Path, name: str) -> None:
    single, state = trained(tiny_recipe(**CASES[name][1]), None)
    report = read_report(outputs, 0, name)
    assert report["losses"] == pytest.approx(single["losses"], abs=CLOSE)
    assert report["norms"] == pytest.approx(single["norms"], rel=CLOSE)
    assert report["validation"] == pytest.approx(single["validation"], abs=CLOSE)
    assert largest_difference(torch.load(outputs / f"{name}.pt"), state) < CLOSE


@each_case
def test_processes_report_same_figures(outputs: Path, name: str) -> None:
    first, second = (read_report(outputs, process_id, name) for process_id in range(2))
    for figure in ("losses", "norms", "validation"):
        assert first[figure] == second[figure]


@each_case
def test_process_holds_its_weight_share(outputs: Path, name: str) -> None:
    shares = [read_report(outputs, process_id, name)["own_share"] for process_id in range(2)]
    expected = 1.0 if CASES[name][0] is DATA else 0.5
    assert shares == pytest.approx([expected, expected], abs=0.02)
