"""Compile a train step for absent devices and report its memory.

    python -m tunix_rt.engines.jax.aot ANSWER.json      (reads the request as one line of JSON from stdin)

Nothing is allocated: weights, optimizer state and batch are shapes with shardings. For a TPU this uses the
real compiler from the libtpu wheel: a step that does not fit fails here as it would on the machine, and the
message states its size. The process must be started with the environment that `compile_child` prepares.
"""

import math
import os
import re
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
from jax.experimental import topologies

from tunix_rt.base.errors import TunixRTError
from tunix_rt.engines.jax.devices import is_out_of_memory
from tunix_rt.engines.jax.program import Program, build_program
from tunix_rt.engines.jax.sharding import make_mesh
from tunix_rt.engines.planning.compile import (
    REFUSED,
    CompiledStep,
    CompileRequest,
    Refusal,
    StoredBytes,
    compiler_versions,
)
from tunix_rt.engines.weights.architecture import architecture_from_config

_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_SIZE = r"([\d.]+)([KMGT]?)B?"
_OUT_OF_MEMORY_PATTERNS = (
    re.compile(rf"Used {_SIZE} of {_SIZE} hbm"),
    re.compile(rf"temporaries \({_SIZE}\) exceeds available HBM \({_SIZE}\)"),
)
# The schedule is a constant of the program; its length does not change any buffer.
_ANY_NUM_STEPS = 1_000


def compile_step(request: CompileRequest) -> CompiledStep:
    """Compile the step of the request and return the compiler's memory analysis."""
    if request.topology is None:
        devices: Sequence[Any] = jax.devices()[: request.num_devices]
    else:
        devices = topologies.get_topology_desc(
            platform=request.topology.platform,
            topology_name=request.topology.name,
            **request.topology.options,
        ).devices
    program = build_program(
        request.recipe,
        architecture_from_config(request.architecture_config),
        make_mesh(request.recipe.sharding, devices),
        num_steps=request.recipe.training.num_steps or _ANY_NUM_STEPS,
        platform=request.platform,
    )
    return compile_program(program)[0]


def compile_program(program: Program) -> tuple[CompiledStep, Any]:
    """Compile the train step of a program.

    Returns:
        The compiler's memory figures, and the executable, or None if the step does not fit in memory.

    Raises:
        JaxRuntimeError: The compiler failed for a reason other than memory.
    """
    started = time.monotonic()
    arguments = (program.abstract_state, program.abstract_frozen, program.abstract_batch)
    lowered = program.train_step.lower(*arguments)  # type: ignore[attr-defined]  # a jitted function
    executable = None
    figures: dict[str, Any]
    try:
        executable = lowered.compile()
        memory = executable.memory_analysis()
        parts = {
            "argument_bytes": memory.argument_size_in_bytes,
            "undonated_bytes": memory.output_size_in_bytes - memory.alias_size_in_bytes,
            "temporary_bytes": memory.temp_size_in_bytes,
            "program_bytes": memory.generated_code_size_in_bytes,
        }
        figures = {"fits": True, "total_bytes": sum(parts.values()), **parts}
    except jax.errors.JaxRuntimeError as error:
        if not is_out_of_memory(error):
            raise
        first_lines = "\n".join(str(error).splitlines()[:40])
        figures = {"fits": False, "total_bytes": required_bytes(str(error)), "message": first_lines}
    state = program.abstract_state
    step = CompiledStep(
        **figures,
        stored=StoredBytes(
            weights=bytes_per_device((state.trainable, program.abstract_frozen)),
            optimizer_state=bytes_per_device(state.optimizer_state),
            batch=bytes_per_device(program.abstract_batch),
        ),
        attention=f"{program.attention.kernel}, {program.attention.reason}",
        compile_seconds=round(time.monotonic() - started, 1),
        compiler=compiler_versions(),
    )
    return step, executable


def required_bytes(message: str) -> int:
    """Parse the size of a program from the compiler's out-of-memory message.

    Example:
        "RESOURCE_EXHAUSTED: … Used 28.08G of 15.75G hbm. …" -> 30150670417

    Raises:
        ValueError: The message has no size.
    """
    for pattern in _OUT_OF_MEMORY_PATTERNS:
        if match := pattern.search(message):
            return int(float(match[1]) * _UNITS[match[2]])
    raise ValueError(message)


def bytes_per_device(tree: Any) -> int:
    """Bytes of the abstract arrays of a tree on each device."""
    leaves = jax.tree.leaves(tree)
    return sum(math.prod(leaf.sharding.shard_shape(leaf.shape)) * leaf.dtype.itemsize for leaf in leaves)


def _exit_with_parent() -> None:
    """Exit when stdin closes: the parent process has ended, so nobody waits for the answer."""
    while os.read(sys.stdin.fileno(), 1024):
        pass
    os._exit(1)


def main() -> None:
    """Write the answer to the request on stdin to the file named by the argument."""
    request = CompileRequest.model_validate_json(sys.stdin.readline())
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    answer = Path(sys.argv[1])
    try:
        answer.write_text(compile_step(request).model_dump_json(), encoding="utf-8")
    except TunixRTError as error:
        refusal = Refusal(detail=error.detail, next_step=error.next_step)
        answer.write_text(refusal.model_dump_json(), encoding="utf-8")
        sys.exit(REFUSED)


if __name__ == "__main__":
    main()
