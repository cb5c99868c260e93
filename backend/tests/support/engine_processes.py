"""Find the engine processes of this machine, and runs with two live attempts. Needs Linux."""

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tunix_rt.runs.executors.supervisor import MARK_VARIABLE


@dataclass(frozen=True)
class EngineProcess:
    """A running `tunix-rt train`, or a process that it has forked."""

    pid: int
    run_id: str
    mark: str
    """The mark of its attempt; empty if no worker started it."""


def engines_alive(runs_dir: Path) -> set[EngineProcess]:
    """Return all processes whose command line is that of an engine for a run in `runs_dir`."""
    found = (_engine(int(name), runs_dir) for name in os.listdir("/proc") if name.isdecimal())
    return {engine for engine in found if engine is not None}


def doubled_runs(runs_dir: Path) -> set[str]:
    """Return the runs with two live attempts, which must never happen.

    Processes of one attempt count once: between fork and exec, any child of an engine, such as `git`, has the
    command line of the engine.
    """
    # Two snapshots: processes that are in both were alive at the same time.
    attempts = {(engine.run_id, engine.mark) for engine in engines_alive(runs_dir) & engines_alive(runs_dir)}
    counts = Counter(run_id for run_id, _ in attempts)
    return {run_id for run_id, num_attempts in counts.items() if num_attempts > 1}


def _engine(pid: int, runs_dir: Path) -> EngineProcess | None:
    words, environment = _strings(pid, "cmdline"), _strings(pid, "environ")
    is_engine = words[1:4] == ["-m", "tunix_rt.cli", "train"] and "--output" in words
    if not is_engine or not environment:
        return None
    run_dir = Path(words[words.index("--output") + 1])
    marks = [entry.partition("=")[2] for entry in environment if entry.startswith(f"{MARK_VARIABLE}=")]
    return EngineProcess(pid, run_dir.name, "".join(marks)) if run_dir.parent == runs_dir else None


def _strings(pid: int, name: str) -> list[str]:
    """Read a list of strings from /proc; empty if the process has exited."""
    try:
        text = Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace")
    except OSError:
        return []
    return text.split("\0") if text else []
