"""The compiled or recorded operations of a train step, for comparing two recipes."""

from typing import Any

import jax
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tunix_rt.engines.jax.program import build_program
from tunix_rt.engines.jax.sharding import make_mesh
from tunix_rt.engines.training.checkpointing import Start
from tunix_rt.engines.training.preparation import Prepared
from tunix_rt.engines.types import DeviceRequest

NUM_STEPS = 4


def jax_step(prepared: Prepared) -> str:
    """Return the lowered program of the train step."""
    program = build_program(
        prepared.recipe,
        prepared.source.architecture,
        make_mesh(prepared.recipe.sharding, jax.devices("cpu")[:1]),
        num_steps=prepared.num_steps,
        platform="cpu",
    )
    arguments = (program.abstract_state, program.abstract_frozen, program.abstract_batch)
    return program.train_step.lower(*arguments).as_text()


def torch_steps(prepared: Prepared) -> Any:
    """Return every operation of a few steps with its output shapes, and the final state."""
    from tunix_rt.engines.torch.devices import choose_device
    from tunix_rt.engines.torch.distributed import ALONE
    from tunix_rt.engines.torch.start import load_training
    from tunix_rt.engines.torch.weights import bytes_of

    torch.set_num_threads(1)
    device = choose_device(DeviceRequest("cpu"))
    _, step = load_training(Start(), prepared, device, ALONE, initial_adapters=None)
    with _Recorder() as recorder:
        for index in range(NUM_STEPS):
            step.run(step.put_batch(prepared.batches.batch(index)), index)
    state = {name: (tensor.dtype, bytes_of(tensor).tobytes()) for name, tensor in step.state_dict().items()}
    return recorder.operations, state


class _Recorder(TorchDispatchMode):
    """Records the operations that torch runs and their output shapes."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[tuple[str, list[tuple[int, ...]]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        shapes = [tuple(leaf.shape) for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        self.operations.append((str(func), shapes))
        return result
