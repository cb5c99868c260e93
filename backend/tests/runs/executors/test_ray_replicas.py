"""A run directory on a node and the worker's replica of it, compared line by line and file by file."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tunix_rt.base.errors import StorageError
from tunix_rt.base.files.copies import file_digest
from tunix_rt.base.files.jsonl import keep_json_lines, read_json_lines
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.runs.executors.base import ChildExit
from tunix_rt.runs.executors.ray import node as ray_node
from tunix_rt.runs.executors.ray.child import Replica
from tunix_rt.runs.executors.ray.messages import Report
from tunix_rt.runs.executors.ray.node import build_report
from tunix_rt.runs.files import JobDir


class Machine:
    """A home with one run."""

    def __init__(self, root: Path) -> None:
        self.job_dir, self.run_dir = JobDir(root / "jobs" / "run"), RunDir(root / "runs" / "run")
        self.job_dir.path.mkdir(parents=True)
        self.run_dir.path.mkdir(parents=True)

    def write(self, relative: str, text: str) -> None:
        path = self.run_dir.path / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def append(self, relative: str, text: str) -> None:
        with (self.run_dir.path / relative).open("a") as file:
            file.write(text)

    def files(self) -> dict[str, str]:
        return {
            path.relative_to(self.run_dir.path).as_posix(): path.read_text()
            for path in self.run_dir.path.rglob("*")
            if path.is_file()
        }

    def hashes(self) -> dict[str, str]:
        hashes = self.run_dir.file_hashes()
        if self.run_dir.manifest.exists():
            hashes[self.run_dir.manifest.name] = file_digest(self.run_dir.manifest)
        return hashes

    def read(self, relative: str, offset: int) -> bytes:
        return (self.run_dir.path / relative).read_bytes()[offset : offset + 4]


@pytest.fixture
def node(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "node")


@pytest.fixture
def local(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "local")


@pytest.fixture
def replica(local: Machine) -> Iterator[Replica]:
    opened = Replica(local.job_dir, local.run_dir)
    yield opened
    opened.close()


def sync(node: Machine, replica: Replica, exit_: ChildExit | None = None) -> Report:
    report = build_report(node.job_dir, node.run_dir, replica.known, exit_)
    replica.apply(report)
    return report


def test_lines_arrive_once_in_order(node: Machine, local: Machine, replica: Replica) -> None:
    for step in range(1, 4):
        node.append("metrics.jsonl", f'{{"step": {step}}}\n')
        sync(node, replica)
    assert [line["step"] for line in read_json_lines(local.run_dir.metrics)] == [1, 2, 3]


def test_partial_line_waits_for_newline(node: Machine, local: Machine, replica: Replica) -> None:
    node.append("metrics.jsonl", '{"step": 1}\n{"st')
    sync(node, replica)
    assert local.run_dir.metrics.read_text() == '{"step": 1}\n'
    node.append("metrics.jsonl", 'ep": 2}\n')
    sync(node, replica)
    assert local.run_dir.metrics.read_text() == '{"step": 1}\n{"step": 2}\n'


def test_truncated_metrics_are_truncated_locally(node: Machine, local: Machine, replica: Replica) -> None:
    node.append("metrics.jsonl", "".join(f'{{"step": {step}}}\n' for step in range(1, 10)))
    sync(node, replica)
    keep_json_lines(node.run_dir.metrics, lambda line: line["step"] <= 4)
    node.append("metrics.jsonl", '{"step": 5}\n')
    sync(node, replica)
    assert [line["step"] for line in read_json_lines(local.run_dir.metrics)] == [1, 2, 3, 4, 5]


def test_output_is_appended_byte_for_byte(node: Machine, local: Machine, replica: Replica) -> None:
    replica.print_line("training on a node")
    for part in (b"50%\r", b"\xff\xfe", b"100%\n"):
        with node.job_dir.output.open("ab") as output:
            output.write(part)
        sync(node, replica)
    assert local.job_dir.output.read_bytes() == b"training on a node\n50%\r\xff\xfe100%\n"


def test_large_output_spans_reports(
    node: Machine, local: Machine, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_node, "CHUNK_BYTES", 5)
    node.job_dir.output.write_bytes(b"one line of twenty six bytes"[:26])
    ended = ChildExit(0)
    num_reports = 1
    while not sync(node, replica, ended).is_last:
        num_reports += 1
    assert local.job_dir.output.read_bytes() == node.job_dir.output.read_bytes()
    assert num_reports == 7


def test_manifest_arrives_last(node: Machine, local: Machine, replica: Replica) -> None:
    node.write("plan.json", "{}")
    node.write("run_manifest.json", "{}")
    sync(node, replica)
    assert sorted(local.files()) == ["plan.json"]
    replica.collect(node.hashes(), node.read)
    assert local.files() == node.files()


def test_stale_manifest_is_removed(node: Machine, local: Machine, replica: Replica) -> None:
    for machine in (node, local):
        machine.write("run_manifest.json", '{"status": "cancelled"}')
    sync(node, replica)
    assert local.run_dir.manifest.exists()
    node.run_dir.manifest.unlink()
    sync(node, replica)
    assert not local.run_dir.manifest.exists()


def test_collect_mirrors_directories(node: Machine, local: Machine, replica: Replica) -> None:
    local.write("checkpoints/10/state", "old")
    local.write("checkpoints/20/state", "torn")
    for name in ("checkpoints/20/state", "checkpoints/30/state/part", "model/config.json", "log.txt"):
        node.write(name, f"content of {name}")
    replica.collect(node.hashes(), node.read)
    assert local.files() == node.files()


def test_damaged_transfer_keeps_old_file(node: Machine, local: Machine, replica: Replica) -> None:
    local.write("model/config.json", "before")
    node.write("model/config.json", "after")
    with pytest.raises(StorageError, match=r"model/config\.json was damaged"):
        replica.collect(node.hashes(), lambda path, offset: node.read(path, offset).upper())
    assert local.files() == {"model/config.json": "before"}


def test_small_file_is_resent_on_change(node: Machine, local: Machine, replica: Replica) -> None:
    node.write("environment.json", json.dumps({"python": "3.11"}))
    assert "environment.json" in sync(node, replica).files
    assert sync(node, replica).files == {}
    node.write("environment.json", json.dumps({"python": "3.12"}))
    os.utime(node.run_dir.environment, ns=(1, 1))
    sync(node, replica)
    assert local.run_dir.environment.read_text() == node.run_dir.environment.read_text()
