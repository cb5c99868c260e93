"""One attempt of a run on a Ray cluster, looked after by a thread."""

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from ray.exceptions import RayError

from tunix_rt.base.errors import ConflictError, DeviceError, StorageError, TunixRTError
from tunix_rt.base.settings import Settings
from tunix_rt.files.checkpoint_mirror import CheckpointMirror
from tunix_rt.worker.executors.base import ChildExit, Job
from tunix_rt.worker.executors.local import LocalExecutor
from tunix_rt.worker.executors.ray_actors import GivenUp, RunActor, nodes, reason
from tunix_rt.worker.executors.ray_messages import RECIPE, RUN_DIR, Assignment
from tunix_rt.worker.executors.ray_replica import Replica
from tunix_rt.worker.executors.ray_resources import demand_of
from tunix_rt.worker.executors.ray_shipping import Shipments, run_so_far

_REPORT_EVERY_S = 0.5
_LOCK_S = 10.0
_QUIET_S = 10.0
_OF_THIS_MACHINE = {"TUNIX_RT_HOME", "TUNIX_RT_DATABASE_URL", "CUDA_VISIBLE_DEVICES"}
"""Paths, secrets and devices that mean nothing, or too much, elsewhere."""
_STOPPED = 128 + signal.SIGTERM
"""Exit code of an engine that was asked to stop."""


class RayChild:
    """An attempt that trains on a node, while its files are kept equal here."""

    def __init__(self, job: Job, shipments: Shipments, settings: Settings) -> None:
        self._job = job
        self._shipments = shipments
        self._settings = settings
        self._where = "A Ray node"
        self._is_training = False
        self._is_stopping = False
        self._is_killed = False
        self._writes_nothing = threading.Event()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"ray-{job.run_id}")
        self._ended = self._pool.submit(self._run)

    def poll(self) -> ChildExit | None:
        """How it ended; None while anything of it runs."""
        return self._ended.result() if self._ended.done() else None

    def stop(self) -> None:
        """Ask it to save and stop; its supervisor over there kills it after the grace."""
        self._is_stopping = True

    def kill(self) -> None:
        """End it at once. From here on nothing is written into its directories."""
        self._is_killed = True
        self._writes_nothing.wait(_QUIET_S)

    def close(self) -> None:
        """End it if it still runs, and wait for that."""
        self._is_killed = True
        self._pool.shutdown()

    def _run(self) -> ChildExit:
        try:
            with self._job.run_dir.held(wait_s=_LOCK_S):
                return self._replicated()
        except TunixRTError as error:
            # Another process holds the directory, or the disk does not even take the output.
            return ChildExit(None, detail=str(error), is_infrastructure=True)
        finally:
            self._writes_nothing.set()
            self._job.run_dir.remove_if_empty()

    def _replicated(self) -> ChildExit:
        replica = Replica(self._job.job_dir, self._job.run_dir)
        try:
            return self._on_a_node(replica)
        except TunixRTError as error:
            # As the command line prints errors: whoever reads the output finds it.
            replica.say(f"error: {error.detail}\nnext:  {error.next_step}")
            if isinstance(error, ConflictError | DeviceError | StorageError):
                return ChildExit(None, detail=str(error), is_infrastructure=True)
            return ChildExit(error.exit_code, detail=str(error))
        finally:
            replica.close()

    def _on_a_node(self, replica: Replica) -> ChildExit:
        job = self._job
        demand = demand_of(job.device, job.recipe.sharding, self._settings, nodes())
        replica.say(f"asking the Ray cluster for {demand}")
        actor = RunActor(job.run_id, demand, self._shipments.package, self._is_given_up)
        try:
            return self._trained(actor, replica)
        except GivenUp:
            # Whoever kills it need not wait until the node has cleaned up.
            self._writes_nothing.set()
            return self._how_it_was_given_up()
        except RayError as error:
            lost = f"{self._where} was lost: {reason(error)}"
            replica.say(lost)
            return ChildExit(None, detail=lost, is_infrastructure=True)
        finally:
            actor.release()

    def _trained(self, actor: RunActor, replica: Replica) -> ChildExit:
        self._where = f"The Ray node {actor.call('host')}"
        replica.say(f"{self._where} trains it")
        self._ship(actor)
        actor.call("start", self._assignment())
        self._is_training = True
        exit_ = self._followed(actor, replica)
        replica.collect(actor.call("listing"), lambda path, offset: bytes(actor.call("read", path, offset)))
        if exit_.code == 0:
            self._forget_mirror(replica)
        return exit_

    def _ship(self, actor: RunActor) -> None:
        job, dataset = self._job, self._job.recipe.data.dataset
        newest_here = LocalExecutor().newest_step(job.run_dir)
        mirror = self._mirror()
        is_newest_here = mirror is None or newest_here > mirror.newest_step()
        for piece in [] if dataset is None else self._shipments.dataset(dataset):
            actor.call("write", piece.path, piece.offset, piece.data)
        for piece in run_so_far(job, with_checkpoints=is_newest_here):
            actor.call("write", piece.path, piece.offset, piece.data)

    def _assignment(self) -> Assignment:
        job = self._job
        paths = {str(job.run_dir.path): RUN_DIR, str(job.job_dir.recipe): RECIPE}
        return Assignment(
            attempt=job.attempt,
            command=tuple(paths.get(argument, argument) for argument in job.command),
            environment={name: job.environment[name] for name in job.environment.keys() - _OF_THIS_MACHINE},
            recipe=job.recipe,
            device=job.device,
            grace_s=job.grace_s,
            silence_s=self._settings.worker_lease_s,
            checkpoint_url=self._settings.checkpoint_url,
        )

    def _followed(self, actor: RunActor, replica: Replica) -> ChildExit:
        """Write down what happens until nothing more does; how it ended."""
        is_told = False
        while True:
            if self._is_stopping and not is_told:
                actor.call("stop")
                is_told = True
            report = actor.call("report", replica.known)
            replica.apply(report)
            if report.is_last:
                ended: ChildExit = report.exit
                return ended
            if report.exit is None and not report.has_more:
                time.sleep(_REPORT_EVERY_S)

    def _mirror(self) -> CheckpointMirror | None:
        url = self._settings.checkpoint_url
        return None if url is None else CheckpointMirror(url, self._job.run_id)

    def _forget_mirror(self, replica: Replica) -> None:
        """A run that has succeeded and is here whole needs it no more."""
        mirror = self._mirror()
        try:
            if mirror is not None:
                mirror.remove()
        except StorageError as error:
            replica.say(str(error))

    def _is_given_up(self) -> bool:
        return self._is_killed or (self._is_stopping and not self._is_training)

    def _how_it_was_given_up(self) -> ChildExit:
        if self._is_killed:
            return ChildExit(None, signal.SIGKILL, "It was killed.", was_killed=True)
        return ChildExit(_STOPPED, detail="It was stopped before it began.")
