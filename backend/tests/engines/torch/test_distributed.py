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


def start(address: str, process_id: int, output: Path) -> "subprocess.Popen[str]":
    paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-m", "support.torch_host_child", address, str(process_id), str(output)],
        env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes left behind."""
    output = tmp_path_factory.mktemp("together")
    address = f"127.0.0.1:{free_port()}"
    processes = [start(address, process_id, output) for process_id in range(2)]
    try:
        errors = [process.communicate(timeout=TIMEOUT_S)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], "\n".join(errors)
    return output


def report(together: Path, process_id: int, name: str) -> Any:
    return json.loads((together / f"{process_id}.json").read_text())[name]


@each_case
def test_two_processes_have_the_losses_and_weights_of_one(together: Path, name: str) -> None:
    alone, state = trained(tiny_recipe(**CASES[name][1]), None)
    seen = report(together, 0, name)
    assert seen["losses"] == pytest.approx(alone["losses"], abs=CLOSE)
    assert seen["norms"] == pytest.approx(alone["norms"], rel=CLOSE)
    assert seen["validation"] == pytest.approx(alone["validation"], abs=CLOSE)
    assert largest_difference(torch.load(together / f"{name}.pt"), state) < CLOSE


@each_case
def test_both_processes_see_the_same_figures(together: Path, name: str) -> None:
    first, second = (report(together, process_id, name) for process_id in range(2))
    for figure in ("losses", "norms", "validation"):
        assert first[figure] == second[figure]


@each_case
def test_shared_weights_lie_half_on_each_process(together: Path, name: str) -> None:
    shares = [report(together, process_id, name)["own_share"] for process_id in range(2)]
    expected = 1.0 if CASES[name][0] is DATA else 0.5
    assert shares == pytest.approx([expected, expected], abs=0.02)
