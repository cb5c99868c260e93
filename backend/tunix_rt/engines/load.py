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
    requested: RequestedEngine,
    device: DeviceName,
    *,
    resumed: EngineName | None = None,
    is_torchrun: bool = False,
) -> EngineChoice:
    """The engine for this machine, or an error that says how to install it."""
    return choose_engine(requested, device, this_machine(), resumed=resumed, is_torchrun=is_torchrun)


def load_engine(choice: EngineChoice) -> "JaxEngine | TorchEngine":
    """Import the chosen engine, which is installed; both engines train and generate."""
    if choice.name == "jax":
        from tunix_rt.engines.jax.engine import JaxEngine

        return JaxEngine()
    from tunix_rt.engines.torch.engine import TorchEngine

    return TorchEngine()


@dataclass(frozen=True)
class LazyEngine:
    """A chosen engine for generation, imported when it loads a model.

    Errors in the rest of a command line are reported before that, and training code is never imported.
    """

    name: EngineName

    def open_generator(self, request: GeneratorRequest) -> Generator:
        """Load the model. Raises errors of `base.errors`."""
        if self.name == "jax":
            from tunix_rt.engines.jax.generation.generator import open_generator as open_with_jax

            return open_with_jax(request)
        from tunix_rt.engines.torch.generation.generator import open_generator as open_with_torch

        return open_with_torch(request)
