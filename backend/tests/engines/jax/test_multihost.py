"""Two processes connected by jax.distributed train like one device."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.children import free_port
from support.programs import tiny_program, tiny_recipe, train

TESTS = Path(__file__).parents[2]
TIMEOUT_S = 300

# Slow: two processes of two devices; test_train_together.py covers two processes.
pytestmark = pytest.mark.slow


def start_process(coordinator: str, process_id: int) -> subprocess.Popen[str]:
    """Start one of two processes, with two devices each."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    return subprocess.Popen(
        [sys.executable, "-m", "support.host_child", coordinator, "2", str(process_id)],
        env=os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags, "PYTHONPATH": str(TESTS)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def collect_reports(processes: list[subprocess.Popen[str]]) -> list[dict[str, Any]]:
    """Wait for the processes, and return the report that each of them printed."""
    try:
        printed = [process.communicate(timeout=TIMEOUT_S) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], printed
    # The collectives library also prints to standard output; the report is the last line.
    return [json.loads(stdout.splitlines()[-1]) for stdout, _ in printed]


def test_two_processes_match_one_device() -> None:
    coordinator = f"127.0.0.1:{free_port()}"
    reports = collect_reports([start_process(coordinator, process_id) for process_id in (0, 1)])
    _, metrics = train(tiny_program(tiny_recipe(sections={"sharding": {"fsdp": 1}})), num_steps=3)
    assert [report["devices"] for report in reports] == [4, 4]
    assert reports[0]["losses"] == reports[1]["losses"]
    assert reports[0]["losses"] == pytest.approx([float(m.loss) for m in metrics], abs=1e-5)
