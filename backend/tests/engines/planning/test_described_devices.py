"""Device descriptions that let compilers target hardware this machine lacks."""

import pytest

from tunix_rt.engines.planning.compile import compiler_environment, gpu_target_config, topology_request
from tunix_rt.engines.planning.targets import TARGETS, Target, cpu_target, find_target

GPUS = [target for target in TARGETS.values() if target.platform == "gpu"]


@pytest.mark.parametrize("target", GPUS, ids=lambda target: target.name)
def test_gpu_description_has_its_specs(target: Target) -> None:
    request = topology_request(target)
    assert request is not None
    assert request.platform == "cuda"
    major, minor = target.compute_capability or (0, 0)
    config = gpu_target_config(target)
    assert f"major: {major} minor: {minor}" in config
    assert f"device_memory_size: {target.memory_bytes}" in config


def test_tpu_description_has_topology_name() -> None:
    request = topology_request(find_target("v5e-8"))
    assert request is not None
    assert (request.platform, request.name) == ("tpu", "v5e:2x4")
    environment = compiler_environment(find_target("v5e-8"))
    assert environment["TPU_ACCELERATOR_TYPE"] == "v5litepod-8"
    assert environment["JAX_PLATFORMS"] == "cpu"


def test_this_machine_needs_no_description() -> None:
    assert topology_request(cpu_target()) is None
    assert compiler_environment(cpu_target()) == {"JAX_PLATFORMS": "cpu"}
