"""The engines, imported when a command needs one: no other command loads an accelerator library."""

from typing import TYPE_CHECKING

from tunix_rt.core.errors import MissingExtraError
from tunix_rt.engines.base import Engine
from tunix_rt.engines.generation import GeneratingEngine

if TYPE_CHECKING:
    from tunix_rt.engines.jax.train import JaxEngine


def training_engine() -> Engine:
    """The engine that trains, or an error that says how to install it."""
    return _jax_engine("Training with the JAX engine")


def generating_engine() -> GeneratingEngine:
    """The engine that writes texts, or an error that says how to install it."""
    return _jax_engine("Letting a model write")


def _jax_engine(purpose: str) -> "JaxEngine":
    try:
        from tunix_rt.engines.jax.train import JaxEngine
    except ModuleNotFoundError as error:
        raise MissingExtraError(purpose, extra="jax") from error
    return JaxEngine()
