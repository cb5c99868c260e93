"""`python -m tunix_rt.cli.model_server MODEL`: the process of one model, started and asked by the server.

Orders are read from standard input, reports leave on what was standard output; `services.serving.wire` has
both. It ends when its standard input does.
"""

import argparse
import os
import sys
from typing import BinaryIO, get_args

from tunix_rt.base.errors import TunixRTError
from tunix_rt.base.settings import load_settings
from tunix_rt.engines.generation.base import GeneratingEngine
from tunix_rt.engines.load import WritingEngine, chosen_engine
from tunix_rt.engines.select import AskedEngine
from tunix_rt.engines.types import DeviceName, DeviceRequest
from tunix_rt.models.find import find_model
from tunix_rt.services.serving.child import OrderReader, ReportWriter, carry_out
from tunix_rt.services.serving.opening import Place, open_model
from tunix_rt.services.serving.wire import Failed, Ready
from tunix_rt.services.serving.writing import ChatWriter


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


def start_engine(asked: AskedEngine, device: DeviceRequest) -> GeneratingEngine:
    """The engine that was asked for, or the one that suits this machine."""
    return WritingEngine(chosen_engine(asked, device.name).name)


def _private_stdout() -> BinaryIO:
    """Standard output for reports alone: whatever a library prints goes to standard error."""
    private = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(private, "wb")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="The process of one served model.")
    parser.add_argument("model")
    parser.add_argument("--engine", choices=get_args(AskedEngine), default="auto")
    parser.add_argument("--device", choices=get_args(DeviceName), default="auto")
    parser.add_argument("--max-rows", type=int, default=8)
    return parser


if __name__ == "__main__":
    sys.exit(main())
