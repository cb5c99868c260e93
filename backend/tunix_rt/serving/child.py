"""python -m: the process of one model.

Orders are read from standard input, reports leave on what was standard output; `services.serving.wire` has
both. It ends when its standard input does.
"""

import argparse
import os
import queue
import sys
import threading
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol, TypeAlias, get_args

from tunix_rt.base.errors import TunixRTError
from tunix_rt.base.records import Record
from tunix_rt.base.settings import load_settings
from tunix_rt.engines.generation.base import GeneratingEngine, Generator, GeneratorRequest
from tunix_rt.engines.load import LazyEngine, chosen_engine
from tunix_rt.engines.select import RequestedEngine
from tunix_rt.engines.types import DeviceName, DeviceRequest, EngineName
from tunix_rt.models.find import ModelToEvaluate, find_model
from tunix_rt.serving.wire import ORDERS, DropOrder, Failed, Order, Ready, line_of
from tunix_rt.serving.writer import ChatWriter
from tunix_rt.traces.types import MarkupStyle

_Orders: TypeAlias = "queue.SimpleQueue[Order]"


class OrderReader:
    """Reads orders in a thread of its own, and ends the process with the server that sends them."""

    def __init__(self, stream: BinaryIO) -> None:
        """Begin to read at once: while a model is loaded, the server may die too."""
        self.orders: _Orders = queue.SimpleQueue()
        self._stream = stream
        threading.Thread(target=self._read, name="orders", daemon=True).start()

    def _read(self) -> None:
        for line in self._stream:
            self.orders.put(ORDERS.validate_json(line))
        # The server has closed the stream, or is dead. Nothing here is worth keeping, and the main thread may
        # be busy with the compiler for a minute.
        os._exit(0)


class ReportWriter:
    """Writes reports; they arrive whole and in order."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def send(self, *reports: Record) -> None:
        """Write them out at once."""
        self._stream.writelines(map(line_of, reports))
        self._stream.flush()


def carry_out(writer: ChatWriter, orders: _Orders, reports: ReportWriter) -> None:
    """Carry out orders for ever; what comes while others are written is begun beside them."""
    while True:
        if not writer.is_busy:
            _receive(writer, orders.get(), reports)
        while not orders.empty():
            _receive(writer, orders.get(), reports)
        reports.send(*writer.advance())


def _receive(writer: ChatWriter, order: Order, reports: ReportWriter) -> None:
    if isinstance(order, DropOrder):
        writer.drop(order.order_id)
    else:
        reports.send(writer.begin(order))


@dataclass(frozen=True)
class Place:
    """Where a model is loaded, and how it is talked to where that is not its own way."""

    engine: RequestedEngine = "auto"
    device: DeviceRequest = field(default_factory=DeviceRequest)
    chat_template: str | None = None
    """None: the model's own."""
    markup: MarkupStyle | None = None
    """None: what the model was trained with."""


class StartEngine(Protocol):
    """Loads an engine: only the command line knows both of them."""

    def __call__(self, asked: RequestedEngine, device: DeviceRequest) -> GeneratingEngine:
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


def main() -> int:
    """Load the model and carry out orders until nobody sends any more."""
    reports = ReportWriter(_private_stdout())
    # Not sys.stdin: Python aborts when it ends while a thread reads from that.
    orders = OrderReader(os.fdopen(sys.stdin.fileno(), "rb", closefd=False)).orders
    options = _parser().parse_args()
    place = Place(options.engine, DeviceRequest(options.device))
    try:
        generator = open_model(find_model(load_settings(), options.model), place, start_engine)
    except TunixRTError as error:
        reports.send(Failed.of(error))
        return error.exit_code
    writer = ChatWriter(generator, max_rows=options.max_rows)
    reports.send(Ready(device=generator.device))
    carry_out(writer, orders, reports)
    return 0


def start_engine(asked: RequestedEngine, device: DeviceRequest) -> GeneratingEngine:
    """The engine that was asked for, or the one that suits this machine."""
    return LazyEngine(chosen_engine(asked, device.name).name)


def _private_stdout() -> BinaryIO:
    """Standard output for reports alone: whatever a library prints goes to standard error."""
    private = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(private, "wb")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="The process of one served model.")
    parser.add_argument("model")
    parser.add_argument("--engine", choices=get_args(RequestedEngine), default="auto")
    parser.add_argument("--device", choices=get_args(DeviceName), default="auto")
    parser.add_argument("--max-rows", type=int, default=8)
    return parser


if __name__ == "__main__":
    sys.exit(main())
