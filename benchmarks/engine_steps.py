"""One training step of either engine, opened for measuring: the very step that `tunix-rt train` runs."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from unittest.mock import patch

from tunix_rt.engines.types import DeviceRequest, EngineName, Platform
from tunix_rt.engines.weights.sources import resolve_model
from tunix_rt.recipes.types import Recipe
from tunix_rt.tokenization.packing import Batch

Device = Literal["cpu", "gpu"]


@dataclass(frozen=True)
class OpenedStep:
    """A step with its weights, ready to run."""

    start: Callable[[Batch, int], Any]
    """Start the step of this index; gives its loss, which may still be on its way."""
    wait: Callable[[Any], float]
    """Wait for a loss, and for everything before it."""
    memory: Callable[[], dict[str, int]]
    """`peak_bytes`: the most that the device, or on a CPU the process, has held."""
    details: dict[str, Any] = field(default_factory=dict)


def open_step(engine: EngineName, recipe: Recipe, device: Device) -> OpenedStep:
    """Build the step with random weights."""
    return _open_torch(recipe, device) if engine == "torch" else _open_jax(recipe, device)


def timed(step: OpenedStep, batches: list[Batch], *, num_warmup: int) -> tuple[float, list[float]]:
    """Seconds a step after the warm-up, and the losses of the first and the last step."""
    first = [step.wait(step.start(batch, index)) for index, batch in enumerate(batches[:num_warmup])]
    started = time.perf_counter()
    loss: Any = None
    for index, batch in enumerate(batches[num_warmup:], start=num_warmup):
        loss = step.start(batch, index)
    last = step.wait(loss)
    return (time.perf_counter() - started) / (len(batches) - num_warmup), [first[0], last]


def _open_torch(recipe: Recipe, device_name: Device) -> OpenedStep:
    import torch

    from tunix_rt.engines.torch.devices import choose_device
    from tunix_rt.engines.torch.start import load_decoder
    from tunix_rt.engines.torch.training.step import TrainStep

    device = choose_device(DeviceRequest(device_name))
    with _drawn_on(device.device):
        decoder = load_decoder(resolve_model(recipe.model, needs_weights=False), recipe, device)
    step = TrainStep(decoder, recipe, recipe.training.num_steps or 1, device.device)

    def memory() -> dict[str, int]:
        needed = device.peak_memory_bytes() or 0
        if device.platform == "cpu":
            return {"peak_bytes": needed}
        return {"peak_bytes": torch.cuda.max_memory_reserved(device.device), "peak_allocated_bytes": needed}

    return OpenedStep(
        start=lambda batch, index: step.run(step.put_batch(batch), index).loss,
        wait=lambda loss: float(loss),
        memory=memory,
        details={
            "attention": decoder.options.kernel,
            "compiling": str(step.compiling),
            "is_graphed": step.uses_cuda_graph,
            "torch": torch.__version__,
            "device": device.kind,
        },
    )


@contextmanager
def _drawn_on(device: Any) -> Iterator[None]:
    """Draw random weights there: the engine's are the same on every machine, and take a minute for 2 GB."""
    import torch

    from tunix_rt.engines.torch import weights

    def drawn(name: str, shape: tuple[int, ...], _architecture: Any, _seed: int) -> Any:
        if name.endswith("norm.weight"):
            return torch.ones(shape, device=device)
        return torch.randn(shape, device=device).div_(shape[-1] ** 0.5)

    with patch.object(weights, "random_tensor", drawn):
        yield


def _open_jax(recipe: Recipe, device_name: Device) -> OpenedStep:
    import jax

    from tunix_rt.engines.jax.devices import choose_device
    from tunix_rt.engines.jax.program import build_program
    from tunix_rt.engines.jax.sharding import make_mesh

    choice = choose_device(DeviceRequest(device_name))
    architecture = resolve_model(recipe.model, needs_weights=False).architecture
    platform: Platform = choice.platform
    mesh = make_mesh(recipe.sharding, choice.devices[:1])
    program = build_program(
        recipe, architecture, mesh, num_steps=recipe.training.num_steps or 1, platform=platform
    )
    state, frozen = program.init_state(program.random_params())

    def start(batch: Batch, index: int) -> Any:
        nonlocal state
        state, metrics = program.train_step(state, frozen, program.put_batch(batch))
        return metrics.loss

    return OpenedStep(
        start=start,
        wait=lambda loss: float(loss),
        memory=lambda: {"peak_bytes": choice.peak_memory_bytes() or 0},
        details={"attention": program.attention.kernel, "jax": jax.__version__, "device": choice.kind},
    )
