"""Runs on a real Ray cluster: a head and two nodes, one of which is killed."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from ray.cluster_utils import Cluster
from support.jobs import number_in
from support.ray_cluster import (
    RECIPE,
    RayHome,
    add_node,
    eventually,
    lose_node_of,
    make_ray_home,
    ray_cluster,
)

from tunix_rt.base.errors import DeviceError
from tunix_rt.base.files.jsonl import read_json_lines
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.runs.executors.processes import process_start
from tunix_rt.runs.executors.ray.executor import RayExecutor
from tunix_rt.runs.executors.ray.mirror import CheckpointMirror
from tunix_rt.runs.files import JobDir

SAVES_ON_SIGTERM = textwrap.dedent("""
    import os, pathlib, signal, sys
    def save(*_):
        (run / "saved.json").write_text("{}")
        print("saved", flush=True)
        sys.exit(143)
    run = pathlib.Path(sys.argv[1])
    run.mkdir(parents=True)
    signal.signal(signal.SIGTERM, save)
    (run / "pid.json").write_text(f"{os.getpid()}\\n")
    print("ready", flush=True)
    while True:
        signal.pause()
""")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with ray_cluster() as started:
        yield started


@pytest.fixture(scope="module")
def ray_home(tmp_path_factory: pytest.TempPathFactory) -> RayHome:
    return make_ray_home(tmp_path_factory.mktemp("office"))


@pytest.fixture(scope="module")
def executor(cluster: Cluster, ray_home: RayHome) -> Iterator[RayExecutor]:
    settings = ray_home.settings.model_copy(update={"ray_address": cluster.address})
    with closing(RayExecutor(settings)) as joined:
        yield joined


# Slow: starts three raylets. test_ray_replicas.py and tests/runs/worker cover the executor without a cluster.
on_a_cluster = pytest.mark.slow


def is_gone(pid: int) -> bool:
    return process_start(pid) is None


@on_a_cluster
def test_lost_node_resumes_elsewhere(executor: RayExecutor, ray_home: RayHome, cluster: Cluster) -> None:
    """The second attempt starts from the mirrored checkpoint, and its run directory is copied back."""
    first = ray_home.training("moved", num_steps=100_000, attempt=1)
    with closing(executor.start(first)) as child:
        eventually(lambda: executor.newest_step(first.run_dir))
        pid = lose_node_of(cluster, "moved")
        exit_ = eventually(child.poll)
    assert exit_.code is None
    assert "The Ray node" in exit_.detail
    add_node(cluster)
    eventually(lambda: is_gone(pid))
    last_step = executor.newest_step(first.run_dir)

    second = ray_home.training("moved", num_steps=last_step + 5, attempt=2)
    executor.adopt_or_clear(second.job_dir)
    with closing(executor.start(second)) as child:
        assert eventually(child.poll).code == 0
    [resumed] = [event for event in read_json_lines(second.run_dir.events) if event["kind"] == "resumed"]
    assert resumed["details"]["step"] == last_step
    steps = [line["step"] for line in read_json_lines(second.run_dir.metrics)]
    assert steps == list(range(1, last_step + 6))
    manifest = RunManifest.model_validate_json(second.run_dir.manifest.read_bytes())
    assert manifest.files == second.run_dir.file_hashes()
    assert "model/model.safetensors" in manifest.files
    assert "succeeded" in second.job_dir.output_tail()
    assert not list(CheckpointMirror(str(ray_home.settings.checkpoint_url), "moved").complete())


@on_a_cluster
def test_stopped_run_saves_first(executor: RayExecutor, ray_home: RayHome) -> None:
    job = ray_home.job("stopped", "-S", "-c", SAVES_ON_SIGTERM)
    with closing(executor.start(job)) as child:
        eventually(lambda: (job.run_dir.path / "pid.json").exists())
        child.stop()
        assert eventually(child.poll).code == 143
    assert (job.run_dir.path / "saved.json").exists()
    assert job.job_dir.output.read_text().endswith("ready\nsaved\n")


@on_a_cluster
def test_waiting_run_can_be_stopped(executor: RayExecutor, ray_home: RayHome) -> None:
    jobs = [ray_home.job(f"many-{number}", "-S", "-c", SAVES_ON_SIGTERM) for number in range(3)]
    children = [executor.start(job) for job in jobs[:2]]
    for job in jobs[:2]:
        eventually(lambda job=job: (job.run_dir.path / "pid.json").exists())
    with closing(executor.start(jobs[2])) as third:
        eventually(lambda: "asking" in jobs[2].job_dir.output_tail())
        third.stop()
        assert eventually(third.poll).detail == "It was stopped before it started."
    for child, job in zip(children, jobs, strict=False):
        child.kill()
        assert eventually(child.poll).signal == signal.SIGKILL
        assert is_gone(number_in(job.run_dir.path / "pid.json") or 0)
        child.close()


@on_a_cluster
def test_takeover_or_orphaning_ends_engine(
    executor: RayExecutor, cluster: Cluster, ray_home: RayHome
) -> None:
    program = textwrap.dedent("""
        import sys, time
        from support.ray_cluster import RayHome
        from tunix_rt.base.settings import Settings
        from tunix_rt.runs.executors.ray.executor import RayExecutor
        home, address, engine, *runs = sys.argv[1:]
        ray_home = RayHome(Settings(home=home))
        executor = RayExecutor(Settings(home=home, ray_address=address))
        children = [executor.start(ray_home.job(run_id, "-S", "-c", engine)) for run_id in runs]
        while True:
            time.sleep(1)
    """)
    arguments = [str(ray_home.settings.home_dir), cluster.address, SAVES_ON_SIGTERM, "taken", "orphan"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    taken, orphan = (RunDir(ray_home.settings.home_dir / "runs" / run_id).path for run_id in arguments[-2:])
    with subprocess.Popen([sys.executable, "-c", program, *arguments], env=environment) as worker:
        pids = [eventually(lambda run=run: number_in(run / "pid.json")) for run in (taken, orphan)]
        executor.adopt_or_clear(JobDir(ray_home.settings.home_dir / "jobs" / "taken"))
        assert [is_gone(pid) for pid in pids] == [True, False]
        worker.kill()
    eventually(lambda: is_gone(pids[1]))


@on_a_cluster
def test_unsatisfiable_demand_is_reported(executor: RayExecutor, ray_home: RayHome) -> None:
    wide = RECIPE + "sharding: {data: 1, fsdp: 4, tensor: 2}\n"
    job = replace(ray_home.job("greedy", "-c", "", recipe=wide), device="gpu")
    with closing(executor.start(job)) as child:
        exit_ = eventually(child.poll)
    assert exit_.code is None
    assert "No node of the Ray cluster has CPU 1, GPU 8. There are: 2 x CPU 1." in exit_.detail
    assert not job.run_dir.path.exists()


def test_unreachable_cluster_is_device_error(ray_home: RayHome) -> None:
    with pytest.raises(DeviceError, match=r"No Ray cluster answers at 127\.0\.0\.1:9") as raised:
        RayExecutor(ray_home.settings.model_copy(update={"ray_address": "127.0.0.1:9"}))
    assert "ray start --head" in raised.value.next_step
