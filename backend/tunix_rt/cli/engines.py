"""The engines, imported when a command needs one: no other command loads an accelerator library."""

from tunix_rt.core.errors import MissingExtraError
from tunix_rt.engines.generation import GeneratingEngine


def generating_engine() -> GeneratingEngine:
    """The engine that writes texts, or an error that says how to install it."""
    try:
        from tunix_rt.engines.jax.train import JaxEngine
    except ModuleNotFoundError as error:
        raise MissingExtraError("Letting a model write", extra="jax") from error
    return JaxEngine()
