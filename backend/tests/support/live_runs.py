"""Runs whose files a test writes in place of an engine, and viewers of their event streams."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support.queued_runs import claimed
from tunix_rt.base.files.jsonl import keep_json_lines
from tunix_rt.base.home import Home
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.training.types import RunStatus
from tunix_rt.runs.files import JobDir
from tunix_rt.runs.live import Cursor, LiveMessage, RunReader, RunWatch
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.rows import NewEvent


class LiveRun:
    """A claimed run whose files the test writes."""

    def __init__(self, store: Home, run_id: str = "run-1") -> None:
        self.run_id = run_id
        self._store = store
        self._lease = claimed(store, run_id).lease
        self.run_dir = RunDir(store.settings.runs_dir / run_id)
        self.job_dir = JobDir(store.settings.jobs_dir / run_id)
        self.run_dir.path.mkdir(parents=True)
        self.job_dir.path.mkdir(parents=True)
        self._num_events = 0

    def print(self, text: str | bytes) -> None:
        _append(self.job_dir.output, text if isinstance(text, bytes) else text.encode())

    def log_step(self, step: int, loss: float = 1.0) -> None:
        line = {"step": step, "loss": loss, "time": datetime.now(UTC).isoformat()}
        _append(self.run_dir.metrics, (json.dumps(line) + "\n").encode())

    def event(self, kind: str, message: str = "") -> None:
        line = {"sequence": self._num_events, "kind": kind, "message": message}
        _append(self.run_dir.events, (json.dumps(line) + "\n").encode())
        self._num_events += 1

    def resume_after(self, step: int) -> None:
        """Truncate the files as an engine does when it resumes from a checkpoint."""
        keep_json_lines(self.run_dir.metrics, lambda line: bool(line["step"] <= step))
        keep_json_lines(self.run_dir.events, lambda line: True)

    def note(self, message: str) -> None:
        assert RunRepository(self._store.database).event(self._lease, NewEvent("warning", message))

    def finish(self, status: RunStatus = "succeeded") -> None:
        assert RunRepository(self._store.database).finish(self._lease, status, "It ended.", exit_code=0)

    def metrics(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.run_dir.metrics.read_text().splitlines()]


class Viewer:
    """A client that applies the messages of an event stream."""

    def __init__(self) -> None:
        self.log = ""
        self.metrics: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.service: list[dict[str, Any]] = []
        self.kinds: list[str] = []
        self.status: str | None = None
        self.last_id = ""

    def take(self, kind: str, data: str, message_id: str) -> None:
        value = json.loads(data)
        self.last_id = message_id
        self.kinds.append(kind)
        if kind == "log":
            self.log += value["chunk"]
        elif kind == "rewind" and value["source"] == "metrics":
            self.metrics = [line for line in self.metrics if line["step"] <= value["step"]]
        elif kind == "rewind":
            self.events = []
        elif kind == "status":
            self.status = value["status"]
        elif kind != "heartbeat":
            {"metrics": self.metrics, "event": self.events, "service": self.service}[kind].append(value)

    def take_all(self, messages: list[LiveMessage]) -> None:
        for message in messages:
            self.take(message.kind, message.data, str(message.cursor))


def read_all(watch: RunWatch, cursor: Cursor | None = None) -> list[LiveMessage]:
    """Read all messages that are available after `cursor`."""
    reader = RunReader(watch, cursor)
    messages: list[LiveMessage] = []
    while batch := reader.read():
        messages += batch
    return messages


def _append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)
