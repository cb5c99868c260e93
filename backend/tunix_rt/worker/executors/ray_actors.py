"""Actors on a Ray cluster: one for each attempt of a run, under the name of the run."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import ray
from ray.exceptions import ActorUnavailableError, RayError, RayTaskError

from tunix_rt.base.errors import ConflictError, TunixRTError
from tunix_rt.worker.executors import ray_bootstrap
from tunix_rt.worker.executors.ray_resources import Demand, Resources
from tunix_rt.worker.processes import wait_until

NAMESPACE = "tunix-rt"
_SLICE_S = 0.2
_CLOSE_S = 60.0
_GONE_S = 60.0


class GivenUp(Exception):
    """Nobody waits for the answer any more."""


class RunActor:
    """One attempt on a node. It ends with this process: Ray ends the actors of a driver that is gone."""

    def __init__(self, run_id: str, demand: Demand, package: Any, is_given_up: Callable[[], bool]) -> None:
        """Ask the cluster for a node; the first call waits until there is one.

        Args:
            run_id: Of the run. No two actors of a cluster have the same: so no run trains twice at once.
            demand: What it takes of the node.
            package: Our code, in Ray's object store.
            is_given_up: Asked again and again while something takes its time.

        Raises:
            ConflictError: Another attempt is still on the cluster.
        """
        self._is_given_up = is_given_up
        self._is_placed = False
        # By value: no node needs the package installed.
        ray.cloudpickle.register_pickle_by_value(ray_bootstrap)
        actor = ray.remote(ray_bootstrap.Bootstrap)
        options = {"name": run_id, "namespace": NAMESPACE, "max_restarts": 0, **demand.options}
        try:
            self._actor: Any = actor.options(**options).remote(package, run_id)
        except ValueError as error:
            raise ConflictError(
                f"Another attempt of {run_id} is still on the Ray cluster.",
                next_step="Wait until it is gone; a worker that takes the run ends it.",
            ) from error

    def call(self, method: str, *arguments: Any) -> Any:
        """Let the node do something, and wait for it; asked again when the network loses the answer.

        Raises:
            GivenUp: Nobody waits any more.
            TunixRTError: The node says so.
            RayError: The node is lost, or something went wrong there.
        """
        while True:
            try:
                answer = self._answer(self._actor.call.remote(method, *arguments))
                self._is_placed = True
                return answer
            except ActorUnavailableError:
                time.sleep(_SLICE_S)

    def release(self) -> None:
        """End what still runs there, and give the node back."""
        _end(self._actor, is_placed=self._is_placed)

    def _answer(self, reference: Any) -> Any:
        while True:
            if self._is_given_up():
                raise GivenUp
            ready, _ = ray.wait([reference], timeout=_SLICE_S)
            if ready:
                return _got(reference)


def clear(run_id: str) -> None:
    """End whatever the cluster still has of a run, and wait until it is gone."""
    try:
        actor = ray.get_actor(run_id, NAMESPACE)
    except ValueError:
        return
    _end(actor, is_placed=True)
    wait_until(lambda: not _is_there(run_id), within_s=_GONE_S)


def nodes() -> list[Resources]:
    """What each living node has."""
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def reason(error: RayError) -> str:
    """Why the cluster did not do its part, in one line."""
    cause = error.cause if isinstance(error, RayTaskError) else error
    return str(cause).strip().partition("\n")[0] or type(cause).__name__


def _end(actor: Any, *, is_placed: bool) -> None:
    """Let it end its child and clean up behind it, where it has begun; and give its node back."""
    with suppress(RayError):
        if is_placed:
            ray.wait([actor.close.remote()], timeout=_CLOSE_S)
        ray.kill(actor, no_restart=True)


def _got(reference: Any) -> Any:
    try:
        return ray.get(reference)
    except RayTaskError as error:
        if isinstance(error.cause, TunixRTError):
            raise error.cause from error
        raise


def _is_there(run_id: str) -> bool:
    try:
        ray.get_actor(run_id, NAMESPACE)
    except ValueError:
        return False
    return True
