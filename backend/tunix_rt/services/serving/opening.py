"""A model by its name, loaded to be talked to."""

from dataclasses import dataclass, field
from typing import Protocol

from tunix_rt.engines.generation.base import GeneratingEngine, Generator, GeneratorRequest
from tunix_rt.engines.select import AskedEngine
from tunix_rt.engines.types import DeviceRequest, EngineName
from tunix_rt.models.find import ModelToEvaluate
from tunix_rt.traces.types import MarkupStyle


@dataclass(frozen=True)
class Place:
    """Where a model is loaded, and how it is talked to where that is not its own way."""

    engine: AskedEngine = "auto"
    device: DeviceRequest = field(default_factory=DeviceRequest)
    chat_template: str | None = None
    """None: the model's own."""
    markup: MarkupStyle | None = None
    """None: what the model was trained with."""


class StartEngine(Protocol):
    """Loads an engine: only the command line knows both of them."""

    def __call__(self, asked: AskedEngine, device: DeviceRequest) -> GeneratingEngine:
        """The engine that was asked for, or the one that suits this machine."""


def open_model(found: ModelToEvaluate, place: Place, start_engine: StartEngine) -> Generator:
    """Load a model that was found.

    Raises:
        TunixRTError: What stands in the way, and the next step.
    """
    asked = place.engine
    if asked == "auto" and found.drawn_by is not None:
        # An adapter on random weights: only the engine that drew them draws the same.
        asked = _engine_name(found.drawn_by)
    engine = start_engine(asked, place.device)
    found.require_engine(engine.name)
    request = GeneratorRequest(
        model=found.section,
        adapter=found.adapter,
        seed=found.seed,
        device=place.device,
        chat_template=place.chat_template,
        markup=place.markup or found.markup,
    )
    return engine.open_generator(request)


def _engine_name(name: str) -> EngineName:
    return "torch" if name == "torch" else "jax"
