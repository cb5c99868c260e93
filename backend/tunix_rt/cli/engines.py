"""The engines, imported when a command needs one: no other command loads an accelerator library."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from tunix_rt.engines.base import DeviceName, EngineName
from tunix_rt.engines.choice import AskedEngine, EngineChoice, choose_engine
from tunix_rt.engines.generation import Generator, GeneratorRequest
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


@dataclass(frozen=True)
class WritingEngine:
    """An engine that was chosen to write, imported when it loads a model.

    Whatever is wrong with the rest of a command line is said before that, and what trains is never imported.
    """

    name: EngineName

    def open_generator(self, request: GeneratorRequest) -> Generator:
        """Load the model. Raises errors of `core.errors`."""
        if self.name == "jax":
            from tunix_rt.engines.jax.generation.opening import open_generator as open_with_jax

            return open_with_jax(request)
        from tunix_rt.engines.torch.generation.opening import open_generator as open_with_torch

        return open_with_torch(request)
