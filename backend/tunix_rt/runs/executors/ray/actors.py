"""One named actor per run, the resources it requests, code and data uploaded once.

device   requests
cpu      CPU: the setting ray_cpus_per_run
gpu      GPU: the devices of the mesh, and CPU as above
tpu      TPU: the devices of the mesh, and CPU as above
auto     what the cluster has: TPU before GPU before CPU

A mesh with an `auto` axis takes the setting ray_devices_per_run.
"""

import io
import math
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import ActorUnavailableError, RayError, RayTaskError

import tunix_rt
from tunix_rt.base.errors import ConflictError, DeviceError, TunixRTError
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.files import dataset_dir, read_manifest
from tunix_rt.recipes.types import ShardingSection
from tunix_rt.runs.executors.base import Job
from tunix_rt.runs.executors.processes import wait_until
from tunix_rt.runs.executors.ray import bootstrap as ray_bootstrap

_ACCELERATORS = ("TPU", "GPU")

Resources = Mapping[str, float]
"""Ray's name of a resource to how much of it: `{"CPU": 1.0, "GPU": 2.0}`."""


@dataclass(frozen=True)
class Demand:
    """The resources of one run, all on one node."""

    amounts: Resources

    @property
    def options(self) -> dict[str, object]:
        """The options of an actor; Ray has separate ones for CPU and GPU."""
        others = {name: amount for name, amount in self.amounts.items() if name not in ("CPU", "GPU")}
        return {
            "num_cpus": self.amounts["CPU"],
            "num_gpus": self.amounts.get("GPU", 0),
            "resources": others,
        }

    def fits(self, node: Resources) -> bool:
        """Whether an idle node has that much."""
        return all(node.get(name, 0) >= amount for name, amount in self.amounts.items())

    def __str__(self) -> str:
        return ", ".join(f"{name} {amount:g}" for name, amount in self.amounts.items())


def demand_of(
    device: str, sharding: ShardingSection, settings: Settings, nodes: Iterable[Resources]
) -> Demand:
    """The resources that a run requests.

    Args:
        device: auto, cpu, gpu or tpu.
        sharding: Of the recipe.
        settings: How many CPUs a run gets, and how many devices if the recipe leaves it open.
        nodes: What each node of the cluster has.

    Example:
        gpu, data 1 x fsdp 4 x tensor 2 -> {"CPU": 1, "GPU": 8}

    Raises:
        DeviceError: No node has that much.
    """
    present = list(nodes)
    name = device.upper()
    if device == "auto":
        name = next((name for name in _ACCELERATORS if any(node.get(name) for node in present)), "CPU")
    amounts = {"CPU": settings.ray_cpus_per_run}
    if name in _ACCELERATORS:
        axes = (sharding.data, sharding.fsdp, sharding.tensor)
        num_devices = math.prod(1 if size == "auto" else size for size in axes)
        amounts[name] = max(num_devices, settings.ray_devices_per_run) if "auto" in axes else num_devices
    demand = Demand(amounts)
    if any(demand.fits(node) for node in present):
        return demand
    kinds = ("CPU", *_ACCELERATORS)
    offers = Counter(str(Demand({kind: node[kind] for kind in kinds if node.get(kind)})) for node in present)
    has = "; ".join(f"{count} x {offer}" for offer, count in sorted(offers.items()) if offer)
    raise DeviceError(
        f"No node of the Ray cluster has {demand}. There are: {has or 'none'}.",
        next_step="Add such a node, or ask for less: --device, the recipe's sharding, "
        "TUNIX_RT_RAY_CPUS_PER_RUN, TUNIX_RT_RAY_DEVICES_PER_RUN.",
    )


NAMESPACE = "tunix-rt"
_SLICE_S = 0.2
_CLOSE_S = 60.0
_GONE_S = 60.0


class CallCancelled(Exception):
    """The caller no longer waits for the answer."""


class RunActor:
    """One attempt on a node. It ends with this process: Ray ends the actors of a dead driver."""

    def __init__(self, run_id: str, demand: Demand, package: Any, is_cancelled: Callable[[], bool]) -> None:
        """Request a node from the cluster; the first call waits until there is one.

        Args:
            run_id: Of the run. Actor names are unique in a cluster, so no run trains twice at once.
            demand: The resources.
            package: The Tunix RT package in Ray's object store.
            is_cancelled: Polled while a call waits.

        Raises:
            ConflictError: Another attempt is still on the cluster.
        """
        self._is_cancelled = is_cancelled
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
                next_step="Wait until it is gone; the worker that claims the run ends it.",
            ) from error

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the node and wait; retried if the network loses the answer.

        Raises:
            CallCancelled: The call was cancelled.
            TunixRTError: Raised by the node.
            RayError: The node is lost, or the call failed there.
        """
        while True:
            try:
                reference, is_ready = self._actor.call.remote(method, *arguments), False
                while not is_ready:
                    if self._is_cancelled():
                        raise CallCancelled
                    is_ready = bool(ray.wait([reference], timeout=_SLICE_S)[0])
                answer = ray.get(reference)
                self._is_placed = True
                return answer
            except ActorUnavailableError:
                time.sleep(_SLICE_S)
            except RayTaskError as error:
                if isinstance(error.cause, TunixRTError):
                    raise error.cause from error
                raise

    def release(self) -> None:
        """End what still runs there, and release the node."""
        _end(self._actor, is_placed=self._is_placed)


def clear(run_id: str) -> None:
    """End the actor of a run, if there is one, and wait until it is gone."""
    if (actor := _find_actor(run_id)) is not None:
        _end(actor, is_placed=True)
        wait_until(lambda: _find_actor(run_id) is None, within_s=_GONE_S)


def _find_actor(run_id: str) -> Any:
    try:
        return ray.get_actor(run_id, NAMESPACE)
    except ValueError:
        return None


def nodes() -> list[Resources]:
    """The resources of each living node."""
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def reason(error: RayError) -> str:
    """The error of the cluster, in one line."""
    cause = error.cause if isinstance(error, RayTaskError) else error
    return str(cause).strip().partition("\n")[0] or type(cause).__name__


def _end(actor: Any, *, is_placed: bool) -> None:
    """End its child and clean up, if it has started; and release its node."""
    with suppress(RayError):
        if is_placed:
            ray.wait([actor.close.remote()], timeout=_CLOSE_S)
        ray.kill(actor, no_restart=True)


_CHUNK_BYTES = 32 << 20
_NUM_CACHED_DATASETS = 4


@dataclass(frozen=True)
class FileChunk:
    """A part of a file in the home on a node."""

    path: str
    offset: int
    data: Any
    """Bytes, or a reference to them in Ray's object store."""


class StagedInputs:
    """The package and datasets in Ray's object store, uploaded once for all runs."""

    def __init__(self, datasets_dir: Path) -> None:
        self._datasets_dir = datasets_dir
        self._datasets: dict[tuple[str, str], list[FileChunk]] = {}
        self._lock = threading.Lock()
        self.package = ray.put(zipped_package())

    def dataset(self, key: str) -> list[FileChunk]:
        """The files of a dataset.

        Raises:
            NotFoundError: There is no such dataset.
        """
        name = (key, read_manifest(self._datasets_dir, key).content_hash)
        with self._lock:
            chunks = self._datasets.pop(name, None)
            if chunks is None:
                root = dataset_dir(self._datasets_dir, key)
                local = _chunks(root, f"datasets/{key}", sorted(root.iterdir()))
                chunks = [FileChunk(chunk.path, chunk.offset, ray.put(chunk.data)) for chunk in local]
            self._datasets[name] = chunks  # least recently used first
            for oldest in list(self._datasets)[:-_NUM_CACHED_DATASETS]:
                del self._datasets[oldest]
        return chunks


def run_files(job: Job, *, with_checkpoints: bool) -> Iterator[FileChunk]:
    """The recipe, and the files of earlier attempts on this machine."""
    run_id, run_dir = job.run_dir.run_id, job.run_dir.path
    yield from _chunks(job.job_dir.path, f"jobs/{run_id}", [job.job_dir.recipe])
    # Names with a dot are locks or temporary files. The model is written again.
    files = [path for path in run_dir.glob("[!.]*") if path.is_file()]
    if with_checkpoints:
        files += [path for path in job.run_dir.checkpoints.glob("[0-9]*/**/*") if path.is_file()]
    yield from _chunks(run_dir, f"runs/{run_id}", files)


def zipped_package() -> bytes:
    """This package as a zip: both ends have the same version."""
    root = Path(tunix_rt.__file__).parent
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                archive.write(path, f"{root.name}/{path.relative_to(root).as_posix()}")
    return packed.getvalue()


def _chunks(root: Path, target: str, files: list[Path]) -> Iterator[FileChunk]:
    for path in files:
        name, offset = f"{target}/{path.relative_to(root).as_posix()}", 0
        with path.open("rb") as file:
            while data := file.read(_CHUNK_BYTES):
                yield FileChunk(name, offset, data)
                offset += len(data)
        if offset == 0:
            yield FileChunk(name, 0, b"")
