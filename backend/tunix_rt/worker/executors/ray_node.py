"""The node's end of a Ray run: a scratch home, the executor of any machine, reports of what happens."""

import socket
import threading
import time
from dataclasses import replace
from pathlib import Path

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.files.copies import file_digest
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.files.checkpoint_mirror import CheckpointMirror
from tunix_rt.files.job_dirs import JobDir
from tunix_rt.recipes.types import Recipe
from tunix_rt.worker.executors.base import ChildExit, Job
from tunix_rt.worker.executors.local import LocalChild, LocalExecutor
from tunix_rt.worker.executors.ray_messages import CHUNK_BYTES, RECIPE, RUN_DIR, Assignment, Known, Report
from tunix_rt.worker.executors.ray_reports import make_report
from tunix_rt.worker.executors.ray_uploads import CheckpointUploads
from tunix_rt.worker.processes import wait_until

_LOOK_EVERY_S = 1.0
_KILL_S = 30.0


class Node:
    """One attempt of a run. Every call may be made twice: the network may lose an answer."""

    def __init__(self, home: Path, run_id: str) -> None:
        self._home = home
        self._job_dir = JobDir(home / "jobs" / run_id)
        self._run_dir = RunDir(home / "runs" / run_id)
        self._child: LocalChild | None = None
        self._uploads: CheckpointUploads | None = None
        self._exit: ChildExit | None = None
        self._last_heard_s = time.monotonic()
        self._is_abandoned = False
        self._is_closed = threading.Event()

    def write(self, relative: str, offset: int, data: bytes) -> None:
        """Put a piece of a file into the scratch home."""
        path = self._home / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("r+b" if path.exists() else "wb") as file:
            file.seek(offset)
            file.write(data)

    def host(self) -> str:
        """Where this is."""
        return socket.gethostname()

    def start(self, assignment: Assignment) -> None:
        """Fetch the newest checkpoints and start the engine.

        Raises:
            InvalidInputError: The recipe names a directory that this node does not have.
            StorageError: The mirror cannot be read.
        """
        if self._child is not None:
            return
        _require_models(assignment.recipe)
        if assignment.checkpoint_url is not None:
            self._uploads = self._restored(assignment.checkpoint_url)
        self._child = LocalExecutor().start(self._job(assignment))
        self._last_heard_s = time.monotonic()
        threading.Thread(target=self._watch, args=(self._child, assignment.silence_s), daemon=True).start()

    def report(self, known: Known) -> Report:
        """What the worker does not know yet."""
        self._last_heard_s = time.monotonic()
        exit_ = self._ended()
        return make_report(self._job_dir, self._run_dir, known, exit_)

    def listing(self) -> dict[str, str]:
        """SHA-256 of every file of the run directory, by its path; the manifest comes last."""
        run_dir = self._run_dir
        hashes = run_dir.file_hashes() if run_dir.path.exists() else {}
        if run_dir.manifest.exists():
            hashes[run_dir.manifest.name] = file_digest(run_dir.manifest)
        return hashes

    def read(self, relative: str, offset: int) -> bytes:
        """A piece of a file of the run directory; nothing at its end."""
        self._last_heard_s = time.monotonic()
        with (self._run_dir.path / relative).open("rb") as file:
            file.seek(offset)
            return file.read(CHUNK_BYTES)

    def stop(self) -> None:
        """Ask the child to save and stop."""
        if self._child is not None:
            self._child.stop()

    def kill(self) -> None:
        """End the child at once; returns when nothing of it runs."""
        child = self._child
        if child is not None:
            child.kill()
            wait_until(lambda: child.poll() is not None, within_s=_KILL_S)

    def close(self) -> None:
        """End what still runs."""
        self._is_closed.set()
        if self._child is not None:
            self._child.kill()
            self._child.close()
        if self._uploads is not None:
            self._uploads.finish(is_needed=False)

    def _restored(self, url: str) -> CheckpointUploads:
        mirror = CheckpointMirror(url, self._run_dir.run_id)
        uploads = CheckpointUploads(mirror, self._run_dir, self._home / "staging", self._say)
        uploads.restore()
        uploads.begin()
        return uploads

    def _job(self, assignment: Assignment) -> Job:
        paths = {RUN_DIR: str(self._run_dir.path), RECIPE: str(self._job_dir.recipe)}
        return Job(
            run_id=self._run_dir.run_id,
            attempt=assignment.attempt,
            command=tuple(paths.get(argument, argument) for argument in assignment.command),
            environment={**assignment.environment, "TUNIX_RT_HOME": str(self._home)},
            job_dir=self._job_dir,
            run_dir=self._run_dir,
            recipe=assignment.recipe,
            grace_s=assignment.grace_s,
            device=assignment.device,
        )

    def _ended(self) -> ChildExit | None:
        """How the child ended, once its last checkpoint is safe."""
        if self._exit is None and self._child is not None and (exit_ := self._child.poll()) is not None:
            if self._is_abandoned:
                exit_ = replace(exit_, detail="Its worker was silent for too long.", is_infrastructure=True)
            if self._uploads is not None:
                self._uploads.finish(is_needed=exit_.code != 0)
            self._exit = exit_
        return self._exit

    def _watch(self, child: LocalChild, silence_s: float) -> None:
        """Stop a child whose worker is gone, should Ray not notice; what it saves goes to the mirror."""
        while not self._is_closed.wait(_LOOK_EVERY_S):
            if time.monotonic() - self._last_heard_s > silence_s:
                self._is_abandoned = True
                child.stop()
                return

    def _say(self, text: str) -> None:
        """Print a line where the child prints."""
        with self._job_dir.open_output() as output:
            output.write(f"{text}\n".encode())


def _require_models(recipe: Recipe) -> None:
    for name in (recipe.model.name, recipe.model.tokenizer):
        if name is not None and Path(name).is_absolute() and not Path(name).exists():
            raise InvalidInputError(
                f"The recipe's model is in {name}, which the Ray node {socket.gethostname()} does not have.",
                next_step="Put it under the same path on a disk that all nodes share, or train it on this "
                "machine: --executor local.",
            )
