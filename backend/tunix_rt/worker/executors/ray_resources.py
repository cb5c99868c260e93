"""What a run asks of a Ray cluster: device and mesh of the recipe, as Ray counts resources.

device   asks for
cpu      CPU: the setting ray_cpus_per_run
gpu      GPU: the devices of the mesh, and CPU as above
tpu      TPU: the devices of the mesh, and CPU as above
auto     what the cluster has: TPU before GPU before CPU

A mesh with an `auto` axis takes the setting ray_devices_per_run.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tunix_rt.base.errors import DeviceError
from tunix_rt.base.settings import Settings
from tunix_rt.recipes.types import ShardingSection

_ACCELERATORS = ("TPU", "GPU")

Resources = Mapping[str, float]
"""Ray's name of a resource to how much of it: `{"CPU": 1.0, "GPU": 2.0}`."""


@dataclass(frozen=True)
class Demand:
    """The resources of one run, all of them on one node."""

    amounts: Resources

    @property
    def options(self) -> dict[str, object]:
        """As the options of an actor; Ray counts CPU and GPU apart from all others."""
        others = {name: amount for name, amount in self.amounts.items() if name not in ("CPU", "GPU")}
        return {
            "num_cpus": self.amounts["CPU"],
            "num_gpus": self.amounts.get("GPU", 0),
            "resources": others,
        }

    def fits(self, node: Resources) -> bool:
        """Whether a node has that much when nothing runs on it."""
        return all(node.get(name, 0) >= amount for name, amount in self.amounts.items())

    def __str__(self) -> str:
        return ", ".join(f"{name} {amount:g}" for name, amount in self.amounts.items())


def demand_of(
    device: str, sharding: ShardingSection, settings: Settings, nodes: Iterable[Resources]
) -> Demand:
    """What a run asks for.

    Args:
        device: auto, cpu, gpu or tpu.
        sharding: of the recipe.
        settings: How many CPUs a run gets, and how many devices when the recipe leaves it open.
        nodes: What each node of the cluster has.

    Example:
        gpu, data 1 x fsdp 4 x tensor 2 -> {"CPU": 1, "GPU": 8}

    Raises:
        DeviceError: No node has that much.
    """
    present = list(nodes)
    name = device.upper() if device != "auto" else _best(present)
    amounts = {"CPU": settings.ray_cpus_per_run}
    if name in _ACCELERATORS:
        amounts[name] = float(_num_devices(sharding, settings.ray_devices_per_run))
    demand = Demand(amounts)
    if not any(demand.fits(node) for node in present):
        raise _no_such_node(demand, present)
    return demand


def _best(nodes: list[Resources]) -> str:
    return next((name for name in _ACCELERATORS if any(node.get(name, 0) for node in nodes)), "CPU")


def _num_devices(sharding: ShardingSection, when_open: int) -> int:
    axes = (sharding.data, sharding.fsdp, sharding.tensor)
    fixed = 1
    for size in axes:
        fixed *= 1 if size == "auto" else size
    return max(fixed, when_open) if "auto" in axes else fixed


def _no_such_node(demand: Demand, nodes: list[Resources]) -> DeviceError:
    offers = Counter(_offer(node) for node in nodes)
    has = "; ".join(f"{count} x {offer}" for offer, count in sorted(offers.items()) if offer)
    return DeviceError(
        f"No node of the Ray cluster has {demand}. There are: {has or 'none'}.",
        next_step="Add such a node, or ask for less: --device, the recipe's sharding, "
        "TUNIX_RT_RAY_CPUS_PER_RUN, TUNIX_RT_RAY_DEVICES_PER_RUN.",
    )


def _offer(node: Resources) -> str:
    return ", ".join(f"{kind} {node[kind]:g}" for kind in ("CPU", *_ACCELERATORS) if node.get(kind))
