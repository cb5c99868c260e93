"""python -m tunix_rt.serving.child: the process of one served model.

Requests arrive on standard input and events leave on standard output, one JSON line each, as `serving.wire`
defines them. The process exits when its standard input is closed.
"""

import argparse
import os
import queue
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import BinaryIO, get_args

from tunix_rt.base.errors import TunixRTError
from tunix_rt.base.records import Record
from tunix_rt.base.settings import load_settings
from tunix_rt.engines.generation.base import GeneratingEngine, Generator, GeneratorRequest
from tunix_rt.engines.load import LazyEngine, chosen_engine
from tunix_rt.engines.select import RequestedEngine
from tunix_rt.engines.types import DeviceName, DeviceRequest
from tunix_rt.models.find import ModelToEvaluate, find_model
from tunix_rt.serving.wire import REQUESTS, CancelRequest, Failed, Ready, Request, to_line
from tunix_rt.serving.writer import ChatBatcher
from tunix_rt.traces.types import MarkupStyle


@dataclass(frozen=True)
class LoadOptions:
    """Where a model is loaded, and overrides of its own chat format."""

    engine: RequestedEngine = "auto"
    device: DeviceRequest = field(default_factory=DeviceRequest)
    chat_template: str | None = None
    """None: the model's own."""
    markup: MarkupStyle | None = None
    """None: the one the model was trained with."""


StartEngine = Callable[[RequestedEngine, DeviceRequest], GeneratingEngine]
"""Loads the requested engine, or for `auto` the one that suits this machine."""


def open_model(found: ModelToEvaluate, options: LoadOptions, start_engine: StartEngine) -> Generator:
    """Load a model for generation.

    Raises:
        TunixRTError: The engine is unavailable, or the model cannot be loaded or does not fit.
    """
    requested = options.engine
    if requested == "auto" and found.drawn_by is not None:
        # An adapter on random weights needs the engine that initialized them.
        requested = "torch" if found.drawn_by == "torch" else "jax"
    engine = start_engine(requested, options.device)
    found.require_engine(engine.name)
    request = GeneratorRequest(
        model=found.section,
        adapter=found.adapter,
        seed=found.seed,
        device=options.device,
        chat_template=options.chat_template,
        markup=options.markup or found.markup,
    )
    return engine.open_generator(request)


def main() -> int:
    """Load the model and serve requests; returns only if the model cannot be loaded."""
    # Only events may go to the real standard output; whatever a library prints goes to standard error.
    events = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # Before the model is loaded: the server may die meanwhile. Not sys.stdin: Python aborts when it exits
    # while a thread reads from that.
    requests = _start_reading(os.fdopen(sys.stdin.fileno(), "rb", closefd=False))
    parser = argparse.ArgumentParser(description="The process of one served model.")
    parser.add_argument("model")
    parser.add_argument("--engine", choices=get_args(RequestedEngine), default="auto")
    parser.add_argument("--device", choices=get_args(DeviceName), default="auto")
    parser.add_argument("--max-rows", type=int, default=8)
    arguments = parser.parse_args()
    options = LoadOptions(arguments.engine, DeviceRequest(arguments.device))
    try:
        generator = open_model(find_model(load_settings(), arguments.model), options, _start_engine)
    except TunixRTError as error:
        _send(events, Failed.of(error))
        return error.exit_code
    _send(events, Ready(device=generator.device))
    batcher = ChatBatcher(generator, max_rows=arguments.max_rows)
    while True:  # until standard input is closed; new requests join the running batch
        while not batcher.is_busy or not requests.empty():
            request = requests.get()
            if isinstance(request, CancelRequest):
                batcher.cancel(request.order_id)
            else:
                _send(events, batcher.add(request))
        _send(events, *batcher.step())


def _start_engine(requested: RequestedEngine, device: DeviceRequest) -> GeneratingEngine:
    return LazyEngine(chosen_engine(requested, device.name).name)


def _start_reading(stream: BinaryIO) -> "queue.SimpleQueue[Request]":
    """Read requests in a thread that ends the process when the stream is closed."""
    requests: queue.SimpleQueue[Request] = queue.SimpleQueue()

    def read() -> None:
        for line in stream:
            requests.put(REQUESTS.validate_json(line))
        # The server has closed the stream or died. There is nothing to save, and the main thread may be
        # compiling for a minute.
        os._exit(0)

    threading.Thread(target=read, name="requests", daemon=True).start()
    return requests


def _send(events: BinaryIO, *messages: Record) -> None:
    events.writelines(map(to_line, messages))
    events.flush()


if __name__ == "__main__":
    sys.exit(main())
