"""Targets of a plan, and the meshes that they allow."""

import pytest
from support.recipes import make_recipe

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.planning.limits import MeshShape, mesh_shape, rows_per_device
from tunix_rt.engines.planning.targets import GIB, TARGETS, find_target, target_of_device_kind
from tunix_rt.engines.weights.sources import resolve_model
from tunix_rt.recipes.types import ShardingSection


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_target_figures_are_positive_and_sourced(target) -> None:
    assert min(target.memory_bytes, target.peak_flops, target.bytes_per_s, target.num_devices) > 0
    assert (target.link_bytes_per_s > 0) == (target.num_devices > 1)
    assert target.memory_source
    assert target.speed_source


def test_v5e_memory_is_the_compiler_limit() -> None:
    assert find_target("v5e-8").memory_bytes == 15.75 * GIB


def test_misspelt_target_suggests_nearest() -> None:
    with pytest.raises(InvalidInputError, match="v5e-8"):
        find_target("v5e8")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA L40S", None),
        ("Tesla T4", "t4"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
    ],
)
def test_device_kind_maps_to_target(kind: str, name: str | None) -> None:
    target = target_of_device_kind(kind)
    assert (target.name if target else None) == name


def test_cpu_target_has_local_memory() -> None:
    target = find_target("cpu")
    assert (target.platform, target.num_devices) == ("cpu", 1)
    assert 0.1 * GIB < target.memory_bytes < 100_000 * GIB


@pytest.mark.parametrize(
    ("section", "num_devices", "shape"),
    [
        (ShardingSection(), 8, MeshShape(1, 8, 1)),
        (ShardingSection(tensor=2), 8, MeshShape(1, 4, 2)),
        (ShardingSection(data="auto", fsdp=2), 8, MeshShape(4, 2, 1)),
        (ShardingSection(fsdp=1), 8, MeshShape(1, 1, 1)),
    ],
)
def test_auto_axis_takes_remaining_devices(section, num_devices, shape) -> None:
    assert mesh_shape(section, num_devices) == shape


@pytest.mark.parametrize("section", [ShardingSection(tensor=3), ShardingSection(data=16, fsdp=1)])
def test_indivisible_axes_are_rejected(section) -> None:
    with pytest.raises(InvalidInputError, match="8 devices"):
        mesh_shape(section, 8)


def test_indivisible_rows_and_heads_are_rejected() -> None:
    recipe = make_recipe(**{"training.batch_size": 12, "training.gradient_accumulation_steps": 3})
    architecture = resolve_model(recipe.model, needs_weights=False).architecture
    with pytest.raises(InvalidInputError, match=r"4 rows .*12 in 3.*multiple of 24"):
        rows_per_device(MeshShape(1, 8, 1), architecture, recipe.training)
    with pytest.raises(InvalidInputError, match=r"8 attention heads.*3 devices"):
        rows_per_device(MeshShape(1, 4, 3), architecture, recipe.training)
    assert rows_per_device(MeshShape(2, 2, 2), architecture, recipe.training) == 1
