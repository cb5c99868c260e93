"""The resources that a run requests from a Ray cluster."""

import pytest
from support.recipes import make_recipe

from tunix_rt.base.errors import DeviceError
from tunix_rt.base.settings import Settings
from tunix_rt.runs.executors.ray.actors import Resources, demand_of

CPU_NODE = {"CPU": 8.0, "memory": 1e9}
GPU_NODE = {"CPU": 8.0, "GPU": 8.0}
TPU_NODE = {"CPU": 8.0, "TPU": 4.0}
ALL_NODES = (CPU_NODE, GPU_NODE, TPU_NODE)


def demand_amounts(
    device: str, *nodes: Resources, settings: Settings | None = None, **mesh: int | str
) -> Resources:
    sharding = make_recipe(**{f"sharding.{axis}": size for axis, size in mesh.items()}).sharding
    return demand_of(device, sharding, settings or Settings(), nodes or ALL_NODES).amounts


def test_cpu_run_requests_cpus_only() -> None:
    assert demand_amounts("cpu") == {"CPU": 1}
    assert demand_amounts("cpu", settings=Settings(ray_cpus_per_run=4)) == {"CPU": 4}


def test_mesh_requests_all_its_devices() -> None:
    assert demand_amounts("gpu", data=1, fsdp=4, tensor=2) == {"CPU": 1, "GPU": 8}
    assert demand_amounts("tpu", data=2, fsdp=1, tensor=1) == {"CPU": 1, "TPU": 2}


def test_open_axis_follows_settings() -> None:
    assert demand_amounts("gpu") == {"CPU": 1, "GPU": 1}
    assert demand_amounts("gpu", settings=Settings(ray_devices_per_run=4)) == {"CPU": 1, "GPU": 4}
    assert demand_amounts("gpu", tensor=2) == {"CPU": 1, "GPU": 2}


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [(ALL_NODES, "TPU"), ((CPU_NODE, GPU_NODE), "GPU"), ((CPU_NODE,), "CPU")],
)
def test_auto_prefers_best_device(nodes: tuple[Resources, ...], expected: str) -> None:
    assert list(demand_amounts("auto", *nodes))[-1] == expected


def test_unsatisfiable_demand_lists_nodes() -> None:
    with pytest.raises(DeviceError, match=r"has CPU 1, GPU 16\. There are: 1 x CPU 8; 2 x CPU 8, GPU 8\."):
        demand_amounts("gpu", CPU_NODE, GPU_NODE, GPU_NODE, fsdp=16)


def test_empty_cluster_is_reported() -> None:
    with pytest.raises(DeviceError, match=r"There are: none\."):
        demand_of("cpu", make_recipe().sharding, Settings(), [])


def test_tpu_is_custom_resource() -> None:
    demand = demand_of("tpu", make_recipe(**{"sharding.fsdp": 4}).sharding, Settings(), ALL_NODES)
    assert demand.options == {"num_cpus": 1, "num_gpus": 0, "resources": {"TPU": 4}}
