"""Unmanaged runs: those that `tunix-rt train` started outside the queue.

Lists show every run of the home. A run directory that is not in the database is read once; while its process
runs, it is read again until it has ended.
"""

import json
import os
import re
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pydantic import ValidationError

from tunix_rt.base.errors import DataError, error_fields
from tunix_rt.base.files.jsonl import first_json_line
from tunix_rt.base.files.locks import is_held
from tunix_rt.base.home import Home
from tunix_rt.engines.training.run_dir import RunDir, read_manifest
from tunix_rt.engines.training.types import RUN_ID_PATTERN, RunFailure, RunManifest
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.types import NewRun, RunRequest, UnmanagedRun, UnmanagedStatus

REFRESH_EVERY_S = 2.0
"""At most this often are the run directories read: not for every request."""
_BATCH_SIZE = 500
_MTIME_RESOLUTION_NS = 1_000_000_000
"""Above the resolution of any file system: a change this long ago cannot share its time with a later one."""
_GONE = UnmanagedStatus(
    status="failed",
    failure=RunFailure(
        code="interrupted",
        detail="Its directory is gone.",
        next_step="Remove it from the list: tunix-rt runs rm",
    ),
)
_PEER_PROCESS = re.compile(r"(.+)-process-\d+")


class UnmanagedRuns:
    """Brings the unmanaged runs of the home into the database."""

    def __init__(
        self, runs_dir: Path, runs: RunRepository, *, refresh_every_s: float = REFRESH_EVERY_S
    ) -> None:
        self._refresh_every_s = refresh_every_s
        self._runs_dir = runs_dir
        self._runs = runs
        self._known: set[str] = set()
        self._unknown: frozenset[str] = frozenset()
        self._seen_ns: int | None = None
        """Modification time of the directory when it was read; None: too recent to rely on."""
        self._next_refresh_s = 0.0
        self._refreshing = threading.Lock()

    def refresh(self) -> None:
        """Add new runs and update those that are running; at most every few seconds."""
        if time.monotonic() < self._next_refresh_s or not self._refreshing.acquire(blocking=False):
            return
        try:
            self._unknown = self._unknown_names()
            if self._unknown:
                self._known |= self._unknown & self._runs.ids()
            new = sorted(self._unknown - self._known)
            for start in range(0, len(new), _BATCH_SIZE):
                names = new[start : start + _BATCH_SIZE]
                read = (read_unmanaged_run(RunDir(self._runs_dir / name)) for name in names)
                found = [run for run in read if run is not None]
                self._runs.add_unmanaged(found)
                self._known |= {run.new.run_id for run in found}
            for run_id in self._runs.unmanaged_ids("running"):
                self.update(run_id)
            self._next_refresh_s = time.monotonic() + self._refresh_every_s
        finally:
            self._refreshing.release()

    def _unknown_names(self) -> frozenset[str]:
        """Directories that are not known runs. They are listed again only if there may be new ones."""
        try:
            changed_ns = self._runs_dir.stat().st_mtime_ns
        except FileNotFoundError:
            return frozenset()
        if changed_ns == self._seen_ns:
            return self._unknown - self._known
        is_old_enough = time.time_ns() - changed_ns > _MTIME_RESOLUTION_NS
        try:
            with os.scandir(self._runs_dir) as entries:
                unknown = [entry for entry in entries if entry.name not in self._known]
                names = {entry.name for entry in unknown if entry.is_dir(follow_symlinks=False)}
        except FileNotFoundError:
            return frozenset()
        self._seen_ns = changed_ns if is_old_enough else None
        # The other processes of a run have directories too.
        peers = {name: peer[1] for name in names if (peer := _PEER_PROCESS.fullmatch(name))}
        peers = {name: run for name, run in peers.items() if run in names or run in self._known}
        return frozenset(name for name in names - peers.keys() if re.fullmatch(RUN_ID_PATTERN, name))

    def update(self, run_id: str) -> None:
        """Update the status of an unmanaged run from its directory."""
        run_dir = RunDir(self._runs_dir / run_id)
        found = read_unmanaged_run(run_dir)
        if found is not None:
            self._runs.update_unmanaged(run_id, found.current, found.new)
        elif not run_dir.path.exists():
            self._runs.update_unmanaged(run_id, _GONE)


def read_unmanaged_run(run_dir: RunDir) -> UnmanagedRun | None:
    """Read a run from its directory; None if no run has started there."""
    # The lock first: a run that ends between the two reads has finished, it was not abandoned.
    is_running = is_held(run_dir.path)
    recipe = _json(run_dir.recipe)
    if not recipe:
        return None
    manifest = None
    try:
        manifest = read_manifest(run_dir)
        current = _status(run_dir.run_id, manifest, is_running=is_running)
    except DataError as error:
        current = UnmanagedStatus(status="failed", failure=RunFailure(**error_fields(error)))
    try:
        new = _new_run(run_dir, recipe, manifest)
    except (AttributeError, KeyError, TypeError, ValidationError):
        return None  # not a run of Tunix RT
    first = first_json_line(run_dir.events)
    if first is None:
        created_at = datetime.fromtimestamp(run_dir.recipe.stat().st_mtime, UTC)
    else:
        created_at = datetime.fromisoformat(first["time"])
    return UnmanagedRun(new=new, created_at=created_at, current=current)


def _status(run_id: str, manifest: RunManifest | None, *, is_running: bool) -> UnmanagedStatus:
    if manifest is not None:
        return UnmanagedStatus.model_validate(manifest, from_attributes=True)
    if is_running:
        return UnmanagedStatus(status="running")
    failure = RunFailure(
        code="interrupted",
        detail="Its process ended without a manifest: it was killed, or the machine stopped.",
        next_step=f"Resume from its last checkpoint: tunix-rt runs resume {run_id}",
    )
    return UnmanagedStatus(status="failed", failure=failure)


def _new_run(run_dir: RunDir, recipe: dict[str, Any], manifest: RunManifest | None) -> NewRun:
    # The keys that every version has written.
    model, dataset = recipe["model"]["name"], recipe["data"].get("dataset") or ""
    engine = _json(run_dir.environment).get("engine", "auto")
    name = manifest.recipe if manifest is not None and manifest.recipe else run_dir.run_id
    is_forced = manifest is not None and manifest.is_forced
    return NewRun(
        run_id=run_dir.run_id,
        request=RunRequest.model_validate({"recipe": recipe, "engine": engine, "is_forced": is_forced}),
        recipe_name=name,
        model=model,
        dataset=dataset if manifest is None else manifest.dataset,
        mode=recipe["training"]["mode"],
        engine=engine,
        recipe=recipe,
        plan=_json(run_dir.plan) or None,
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


_by_home: WeakKeyDictionary[Home, UnmanagedRuns] = WeakKeyDictionary()


def unmanaged_runs(home: Home) -> UnmanagedRuns:
    """The unmanaged runs of this home. One object per open home remembers when it was last read."""
    if home not in _by_home:
        _by_home[home] = UnmanagedRuns(home.settings.runs_dir, RunRepository(home.database))
    return _by_home[home]


def refreshed_runs(home: Home) -> RunRepository:
    """The runs of this home, including unmanaged ones that have started lately."""
    unmanaged_runs(home).refresh()
    return RunRepository(home.database)
