"""The engines, imported when a command needs one: no other command loads an accelerator library."""

from typing import TYPE_CHECKING, Annotated

import typer

from tunix_rt.engines.base import DeviceName, EngineName
from tunix_rt.engines.choice import AskedEngine, EngineChoice, choose_engine
from tunix_rt.engines.installed import this_machine

if TYPE_CHECKING:
    from tunix_rt.engines.jax.train import JaxEngine
    from tunix_rt.engines.torch.train import TorchEngine

EngineOption = Annotated[
    AskedEngine,
    typer.Option("--engine", help="auto takes the one that suits this machine, and says why."),
]


def chosen_engine(
    asked: AskedEngine, device: DeviceName, *, resumed: EngineName | None = None, is_torchrun: bool = False
) -> EngineChoice:
    """The engine for this machine, or an error that says how to install it."""
    return choose_engine(asked, device, this_machine(), resumed=resumed, is_torchrun=is_torchrun)


def load_engine(choice: EngineChoice) -> "JaxEngine | TorchEngine":
    """Import an engine that was chosen, and is therefore installed; both of them train and write."""
    if choice.name == "jax":
        from tunix_rt.engines.jax.train import JaxEngine

        return JaxEngine()
    from tunix_rt.engines.torch.train import TorchEngine

    return TorchEngine()
