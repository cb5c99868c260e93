"""RayExecutor: join the cluster, start a run on a node. Imports ray lazily."""

import logging
import signal
import socket
import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING
from weakref import WeakSet

from tunix_rt.base.errors import DeviceError, MissingExtraError, StorageError
from tunix_rt.base.settings import Settings
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.runs.executors.base import Job
from tunix_rt.runs.executors.local import LocalExecutor
from tunix_rt.runs.executors.ray.mirror import CheckpointMirror, open_file_system
from tunix_rt.runs.files import JobDir

if TYPE_CHECKING:
    from tunix_rt.runs.executors.ray.child import RayChild

_CONNECT_S = 10.0
_logger = logging.getLogger(__name__)


class RayExecutor:
    """Starts engines on the nodes of a Ray cluster. They end with the worker, however it ends."""

    name = "ray"

    def __init__(self, settings: Settings) -> None:
        """Join the cluster of the settings.

        Raises:
            MissingExtraError: Ray is not installed.
            InvalidInputError: The URL of the mirror cannot be used.
            DeviceError: No cluster answers.
        """
        if find_spec("ray") is None:
            raise MissingExtraError("Training on a Ray cluster", extra="ray")
        if settings.checkpoint_url is not None:
            open_file_system(settings.checkpoint_url)
        self._settings = settings
        _join(settings.ray_address)
        from tunix_rt.runs.executors.ray.actors import StagedInputs

        self._staged = StagedInputs(settings.datasets_dir)
        self._children: WeakSet[RayChild] = WeakSet()

    def start(self, job: Job) -> "RayChild":
        """Request a node from the cluster and train there."""
        from tunix_rt.runs.executors.ray.child import RayChild

        child = RayChild(job, self._staged, self._settings)
        self._children.add(child)
        return child

    def adopt_or_clear(self, job_dir: JobDir) -> None:
        """End an earlier attempt that is still on the cluster."""
        from tunix_rt.runs.executors.ray.actors import clear

        clear(job_dir.run_id)

    def newest_step(self, run_dir: RunDir) -> int:
        """The newest checkpoint that a node can resume from: a local or a mirrored one."""
        here = LocalExecutor().newest_step(run_dir)
        if self._settings.checkpoint_url is None:
            return here
        try:
            return max(here, CheckpointMirror(self._settings.checkpoint_url, run_dir.run_id).newest_step())
        except StorageError as error:
            _logger.warning("%s", error)
            return here

    def close(self) -> None:
        """Leave the cluster; the runs of this worker there end."""
        import ray

        for child in self._children:
            child.close()
        ray.shutdown()


def _join(address: str) -> None:
    import ray

    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdecimal():  # not auto or local, with which Ray fails at once
        try:
            # Fail fast: Ray itself would retry for minutes and then end this process.
            socket.create_connection((host, int(port)), timeout=_CONNECT_S).close()
        except OSError as error:
            raise _no_cluster(address, str(error)) from error
    before = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=address, ignore_reinit_error=True, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise _no_cluster(address, str(error).partition("\n")[0]) from error
    finally:
        # Ray replaces the handler, and a worker drains on SIGTERM.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def _no_cluster(address: str, problem: str) -> DeviceError:
    return DeviceError(
        f"No Ray cluster answers at {address}: {problem}",
        next_step="Start one with `ray start --head` and give --ray-address HOST:PORT; this machine must be "
        "one of its nodes. `ray status` shows it.",
    )
