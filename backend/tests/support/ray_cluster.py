"""A real Ray cluster of several raylets on this machine, and jobs for it."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import ray
from ray.cluster_utils import Cluster

from support.datasets import build, sums
from tunix_rt.base.settings import Settings
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.recipes.load import load_recipe
from tunix_rt.runs.executors.base import Job
from tunix_rt.runs.files import JobDir

_STORE_BYTES = 80 << 20
_PATIENCE_S = 300.0
_Found = TypeVar("_Found")
RECIPE = """
model: {name: tiny-llama, weights: random}
data: {dataset: demo-v1, row_length: 64}
training:
  num_steps: 6
  batch_size: 2
  learning_rate: 1e-2
  schedule: constant
  remat: none
  precision: {compute: float32}
output: {save_every_steps: 2}
"""


@contextmanager
def ray_cluster() -> Iterator[Cluster]:
    """Run a cluster of a head without CPUs and two nodes with one CPU each."""
    head = {"num_cpus": 0, "object_store_memory": _STORE_BYTES, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        for _ in range(2):
            add_node(cluster)
        cluster.wait_for_nodes()
        yield cluster
    finally:
        session = cluster.head_node.get_session_dir_path()
        ray.shutdown()
        cluster.shutdown()
        shutil.rmtree(session, ignore_errors=True)


def eventually(find: Callable[[], _Found | None]) -> _Found:
    """Poll `find` until it returns something true. Engines start slowly when processes share few cores."""
    deadline_s = time.monotonic() + _PATIENCE_S
    while not (found := find()):
        assert time.monotonic() < deadline_s, "timed out"
        time.sleep(0.05)
    return found


def add_node(cluster: Cluster) -> None:
    """Add a node with one CPU."""
    cluster.add_node(num_cpus=1, object_store_memory=_STORE_BYTES)


def lose_node_of(cluster: Cluster, run_id: str) -> int:
    """Kill the raylet of a run, as a power failure would, and return the pid of its actor."""
    actor = ray.get_actor(run_id, "tunix-rt")
    # A lambda is pickled by value; the nodes cannot import this module.
    where = actor.__ray_call__.remote(lambda _: (ray.get_runtime_context().get_node_id(), os.getpid()))
    node_id, pid = ray.get(where)
    [node] = [one for one in cluster.worker_nodes if one.node_id == node_id]
    cluster.remove_node(node, allow_graceful=False)
    return int(pid)


@dataclass(frozen=True)
class RayHome:
    """A home directory with a dataset, and jobs for it."""

    settings: Settings

    def job(self, run_id: str, *command: str, recipe: str = RECIPE, attempt: int = 1) -> Job:
        """Return an attempt that runs `command` followed by the path of the run directory."""
        home = self.settings.home_dir
        job_dir, run_dir = JobDir(home / "jobs" / run_id), RunDir(home / "runs" / run_id)
        job_dir.path.mkdir(parents=True, exist_ok=True)
        job_dir.recipe.write_text(recipe, encoding="utf-8")
        return Job(
            attempt=attempt,
            command=(*command, str(run_dir.path)),
            environment={
                "OMP_NUM_THREADS": "1",
                # A second attempt reuses the compiled programs of the first.
                "JAX_COMPILATION_CACHE_DIR": str(home / "compiled"),
                "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
                "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
            },
            job_dir=job_dir,
            run_dir=run_dir,
            recipe=load_recipe(job_dir.recipe).recipe,
            grace_s=60.0,
            device="cpu",
        )

    def training(self, run_id: str, *, num_steps: int, attempt: int) -> Job:
        """Return a training attempt. The schedule is constant, so a later attempt may have fewer steps."""
        recipe = str(JobDir(self.settings.home_dir / "jobs" / run_id).recipe)
        train = ("-m", "tunix_rt.cli", "train", recipe, "--engine", "jax", "--device", "cpu", "--resume")
        text = RECIPE.replace("num_steps: 6", f"num_steps: {num_steps}")
        return self.job(run_id, *train, "--output", recipe=text, attempt=attempt)


def make_ray_home(root: Path) -> RayHome:
    """Create a home with a dataset of 12 sums; the nodes share a directory for checkpoints."""
    build(root / "home", sums(12))
    return RayHome(Settings(home=root / "home", checkpoint_url=f"file://{root / 'shared'}"))
