"""The engines that live on this machine, and whether two attempts at one run do. Needs Linux."""

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tunix_rt.runs.executors.supervisor import MARK_VARIABLE


@dataclass(frozen=True)
class EngineProcess:
    """A living `tunix-rt train`, or a process that it has forked."""

    pid: int
    run_id: str
    mark: str
    """Of the attempt that it belongs to; empty when no worker started it."""


def engines_alive(runs_dir: Path) -> set[EngineProcess]:
    """Every process of this machine that has the command line of an engine for a run in that directory."""
    found = (_engine(int(name), runs_dir) for name in os.listdir("/proc") if name.isdecimal())
    return {engine for engine in found if engine is not None}


def doubled_runs(runs_dir: Path) -> set[str]:
    """Runs that two attempts work at in this moment; never any.

    Processes of one attempt are counted once: whatever an engine starts, be it `git`, has the engine's own
    command line between fork and exec.
    """
    # Twice: who is there both times was there when the other was seen.
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
    """What the kernel tells of a process; nothing once it has let go of its memory."""
    try:
        text = Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace")
    except OSError:
        return []
    return text.split("\0") if text else []
