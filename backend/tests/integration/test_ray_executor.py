"""Runs on a real Ray cluster: a head and two nodes, one of which is killed."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from ray.cluster_utils import Cluster
from support.jobs import ended, number_in, wait_for
from support.ray_cluster import RECIPE, Office, add_node, lose_node_of, make_office, ray_cluster

from tunix_rt.core.errors import DeviceError
from tunix_rt.files.run_dirs import RunDir, read_json_lines
from tunix_rt.worker.executors.ray import RayExecutor

WAITS_TO_BE_STOPPED = textwrap.dedent("""
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
LONG = RECIPE.replace("num_steps: 6", "num_steps: 100000")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with ray_cluster() as started:
        yield started


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    return make_office(tmp_path_factory.mktemp("office"))


@pytest.fixture(scope="module")
def executor(cluster: Cluster, office: Office) -> Iterator[RayExecutor]:
    with closing(RayExecutor(office.settings, cluster.address)) as joined:
        yield joined


def steps_of(run_dir: RunDir) -> list[int]:
    return [line["step"] for line in read_json_lines(run_dir.metrics)]


def is_whole(run_dir: RunDir) -> bool:
    files: dict[str, str] = json.loads(run_dir.manifest.read_bytes())["files"]
    return run_dir.file_hashes() == files


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_a_run_trains_on_a_node_and_comes_back_whole(executor: RayExecutor, office: Office) -> None:
    job = office.training("whole", "torch")
    with closing(executor.start(job)) as child:
        assert ended(child).code == 0
    assert is_whole(job.run_dir)
    assert steps_of(job.run_dir) == [1, 2, 3, 4, 5, 6]
    assert (job.run_dir.model / "model.safetensors").exists()
    assert "succeeded" in job.job_dir.output.read_text()
    assert executor.newest_step(job.run_dir) == 6


def test_a_run_whose_node_is_lost_goes_on_from_its_checkpoint_elsewhere(
    executor: RayExecutor, office: Office, cluster: Cluster
) -> None:
    first = office.training("moved", "jax", recipe=LONG)
    with closing(executor.start(first)) as child:
        wait_for(lambda: executor.newest_step(first.run_dir))
        lose_node_of(cluster, "moved")
        exit_ = ended(child)
    assert exit_.is_infrastructure
    assert "node" in exit_.detail
    add_node(cluster)
    last_step = executor.newest_step(first.run_dir)

    second = office.training("moved", "jax", recipe=LONG, attempt=2)
    executor.adopt_or_clear(second.job_dir)
    with closing(executor.start(second)) as child:
        wait_for(lambda: max(steps_of(second.run_dir), default=0) > last_step + 20)
        child.stop()
        assert ended(child).code == 128 + signal.SIGTERM
    steps = steps_of(second.run_dir)
    assert steps == list(range(1, len(steps) + 1))
    [resumed] = [event for event in read_json_lines(second.run_dir.events) if event["kind"] == "resumed"]
    assert resumed["details"]["step"] == last_step
    assert is_whole(second.run_dir)


def test_a_run_that_is_told_to_stop_saves_first(executor: RayExecutor, office: Office) -> None:
    job = office.job("stopped", "-S", "-c", WAITS_TO_BE_STOPPED)
    with closing(executor.start(job)) as child:
        wait_for(lambda: (job.run_dir.path / "pid.json").exists())
        child.stop()
        assert ended(child).code == 143
    assert (job.run_dir.path / "saved.json").exists()
    assert job.job_dir.output.read_text().endswith("ready\nsaved\n")


def test_a_run_for_which_there_is_no_room_waits_and_can_be_stopped(
    executor: RayExecutor, office: Office
) -> None:
    jobs = [office.job(f"many-{number}", "-S", "-c", WAITS_TO_BE_STOPPED) for number in range(3)]
    children = [executor.start(job) for job in jobs[:2]]
    for job in jobs[:2]:
        wait_for(lambda job=job: (job.run_dir.path / "pid.json").exists())
    with closing(executor.start(jobs[2])) as third:
        wait_for(lambda: "asking" in jobs[2].job_dir.output_tail())
        third.stop()
        assert ended(third).detail == "It was stopped before it began."
    for child, job in zip(children, jobs, strict=False):
        child.kill()
        assert ended(child).signal == signal.SIGKILL
        assert is_gone(number_in(job.run_dir.path / "pid.json") or 0)
        child.close()


def test_an_engine_ends_with_its_worker(cluster: Cluster, office: Office, tmp_path: Path) -> None:
    program = textwrap.dedent("""
        import sys, time
        from support.ray_cluster import Office
        from tunix_rt.config.settings import Settings
        from tunix_rt.worker.executors.ray import RayExecutor
        office = Office(Settings(home=sys.argv[1]))
        child = RayExecutor(office.settings, sys.argv[2]).start(office.job("orphan", "-S", "-c", sys.argv[3]))
        while True:
            time.sleep(1)
    """)
    arguments = [str(office.settings.home_dir), cluster.address, WAITS_TO_BE_STOPPED]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run_dir = RunDir(office.settings.home_dir / "runs" / "orphan")
    with subprocess.Popen([sys.executable, "-c", program, *arguments], env=environment) as worker:
        pid = wait_for(lambda: number_in(run_dir.path / "pid.json"))
        worker.kill()
    wait_for(lambda: is_gone(pid))


def test_a_demand_that_no_node_can_meet_is_named(executor: RayExecutor, office: Office) -> None:
    wide = RECIPE + "sharding: {data: 1, fsdp: 4, tensor: 2}\n"
    job = replace(office.job("greedy", "-c", "", recipe=wide), device="gpu")
    with closing(executor.start(job)) as child:
        exit_ = ended(child)
    assert exit_.is_infrastructure
    assert "No node of the Ray cluster has CPU 1, GPU 8. There are: 2 x CPU 1." in exit_.detail
    assert not job.run_dir.path.exists()


def test_an_address_where_nobody_answers_is_a_device_error(office: Office) -> None:
    with pytest.raises(DeviceError, match=r"No Ray cluster answers at 127\.0\.0\.1:9") as raised:
        RayExecutor(office.settings, "127.0.0.1:9")
    assert "ray start --head" in raised.value.next_step
