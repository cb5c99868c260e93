"""The weights that a run starts with, or goes on with."""

from pathlib import Path

from tunix_rt.engines.preparation import Prepared
from tunix_rt.engines.starting import Start
from tunix_rt.engines.torch.adapters import load_adapters
from tunix_rt.engines.torch.checkpoints import State
from tunix_rt.engines.torch.devices import TorchDevice
from tunix_rt.engines.torch.loading import load_decoder
from tunix_rt.engines.torch.model import Decoder
from tunix_rt.engines.torch.sharding import Layout
from tunix_rt.engines.torch.step import TrainStep


def load_training(
    start: Start[State],
    prepared: Prepared,
    device: TorchDevice,
    layout: Layout,
    *,
    initial_adapters: Path | None,
) -> tuple[Decoder, TrainStep]:
    """The model and its step. Frozen weights are always read anew: no checkpoint holds them.

    Args:
        start: Where the run goes on.
        prepared: What is trained.
        device: Where.
        layout: This process among those that train together.
        initial_adapters: What LoRA starts from instead of random adapters, at the beginning of a run.
    """
    decoder = load_decoder(prepared.source, prepared.recipe, device)
    if initial_adapters is not None and start.state is None:
        load_adapters(decoder, initial_adapters)
    train_step = TrainStep(decoder, prepared.recipe, prepared.num_steps, device.device, layout)
    if start.state is not None:
        train_step.load_state_dict(start.state)
    return decoder, train_step
