"""What the planner asks a compiling child process, and what the child answers. No JAX is needed here."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from tunix_rt.core.targets import Platform
from tunix_rt.recipes.types import Recipe

REFUSED = 3
"""Exit code of a child whose answer is a refusal."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TopologyRequest(_Frozen):
    """Devices that are not there, as the arguments of `jax.experimental.topologies.get_topology_desc`."""

    platform: Literal["tpu", "cuda"]
    name: str
    options: dict[str, Any]


class CompileRequest(_Frozen):
    """Compile the train step of this recipe and say what it needs."""

    recipe: Recipe
    architecture_config: dict[str, Any]
    """The content of the model's config.json."""
    platform: Platform
    num_devices: int
    topology: TopologyRequest | None
    """None: the devices of this machine."""


class StoredBytes(_Frozen):
    """Bytes per device of what the step is given, by tree, from the shardings."""

    weights: int
    optimizer_state: int
    batch: int


class Refusal(_Frozen):
    """The recipe cannot be compiled, whatever the memory: what is wrong and what to do."""

    detail: str
    next_step: str


class CompiledStep(_Frozen):
    """The compiler's answer, per device."""

    fits: bool
    """Whether the compiler found room. CPU and GPU compilers do not refuse: then it is always true."""
    total_bytes: int
    stored: StoredBytes
    argument_bytes: int | None = None
    """Absent, with the next three, when the step did not fit: the compiler then says the total only."""
    undonated_bytes: int | None = None
    """Outputs that do not reuse the memory of an argument."""
    temporary_bytes: int | None = None
    program_bytes: int | None = None
    attention: str
    """The kernel and why it was chosen."""
    message: str | None = None
    """What the compiler said when the step did not fit."""
    compile_seconds: float
    compiler: str
    """Versions, e.g. `jax 0.10.2, libtpu 0.0.42.1`."""
