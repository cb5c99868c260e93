"""The loop of a model's process: orders come in lines on one stream, reports leave in lines on another."""

import os
import queue
import threading
from typing import BinaryIO, TypeAlias

from tunix_rt.base.records import Record
from tunix_rt.services.serving.wire import ORDERS, DropOrder, Order, line_of
from tunix_rt.services.serving.writing import ChatWriter

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
