"""Import the chosen engine. Only commands and child processes may import this module."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tunix_rt.engines.generation.base import Generator, GeneratorRequest
from tunix_rt.engines.select import EngineChoice, RequestedEngine, choose_engine, this_machine
from tunix_rt.engines.types import DeviceName, EngineName

if TYPE_CHECKING:
    from tunix_rt.engines.jax.engine import JaxEngine
    from tunix_rt.engines.torch.engine import TorchEngine


def chosen_engine(
    asked: RequestedEngine,
    device: DeviceName,
    *,
    resumed: EngineName | None = None,
    is_torchrun: bool = False,
) -> EngineChoice:
    """The engine for this machine, or an error that says how to install it."""
    return choose_engine(asked, device, this_machine(), resumed=resumed, is_torchrun=is_torchrun)


def load_engine(choice: EngineChoice) -> "JaxEngine | TorchEngine":
    """Import an engine that was chosen, and is therefore installed; both of them train and write."""
    if choice.name == "jax":
        from tunix_rt.engines.jax.engine import JaxEngine

        return JaxEngine()
    from tunix_rt.engines.torch.engine import TorchEngine

    return TorchEngine()


@dataclass(frozen=True)
class LazyEngine:
    """An engine that was chosen to write, imported when it loads a model.

    Whatever is wrong with the rest of a command line is said before that, and what trains is never imported.
    """

    name: EngineName

    def open_generator(self, request: GeneratorRequest) -> Generator:
        """Load the model. Raises errors of `core.errors`."""
        if self.name == "jax":
            from tunix_rt.engines.jax.generation.generator import open_generator as open_with_jax

            return open_with_jax(request)
        from tunix_rt.engines.torch.generation.generator import open_generator as open_with_torch

        return open_with_torch(request)
