"""The processes of the models that are being asked: started on first use, gone when nobody asks."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from tunix_rt.base.errors import ServingError
from tunix_rt.base.settings import Settings
from tunix_rt.services.serving.naming import FoundModel
from tunix_rt.services.serving.process import ModelProcess

_LOOK_S = 1.0


class StartProcess(Protocol):
    """Starts the process of a model."""

    async def __call__(self, model: FoundModel) -> ModelProcess:
        """A process that loads the model."""


class _Seat:
    """A model that is loaded, or being loaded."""

    def __init__(self, loading: "asyncio.Task[ModelProcess]") -> None:
        self.loading = loading
        self.num_asking = 0
        self.last_asked_s = time.monotonic()

    @property
    def process(self) -> ModelProcess | None:
        """Once it is loaded."""
        is_loaded = self.loading.done() and not self.loading.cancelled() and not self.loading.exception()
        return self.loading.result() if is_loaded else None

    @property
    def is_lost(self) -> bool:
        """Whether it could not be loaded, or has died."""
        return self.loading.done() and (self.process is None or not self.process.is_alive)

    @property
    def is_idle(self) -> bool:
        """Whether nobody asks it."""
        return self.num_asking == 0 and self.loading.done()

    async def leave(self) -> None:
        """Stop the process; return when its memory is free."""
        if not self.loading.done():
            self.loading.cancel()
            await asyncio.wait([self.loading])
        if self.process is not None:
            await self.process.close()


class ModelPool:
    """At most so many models at a time; the one that was asked least recently gives way."""

    def __init__(self, settings: Settings, start: StartProcess) -> None:
        """Nothing is started before somebody asks."""
        self._settings = settings
        self._start = start
        self._seats: dict[str, _Seat] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._watch: asyncio.Task[None] | None = None

    def is_loaded(self, root: str) -> bool:
        """Whether the weights answer at once."""
        seat = self._seats.get(root)
        return seat is not None and seat.process is not None and seat.process.is_alive

    @asynccontextmanager
    async def asking(self, model: FoundModel) -> AsyncIterator[ModelProcess]:
        """The process of a model, for as long as the context; loaded first where it is not.

        Raises:
            ServingError: No place is free, or the process has died.
            TunixRTError: The model cannot be loaded.
        """
        seat = self._seat(model)
        if seat.num_asking >= self._settings.serving_max_requests:
            raise ServingError(
                f"{seat.num_asking} requests wait for {model.root} already.",
                next_step="Ask again in a moment, or raise TUNIX_RT_SERVING_MAX_REQUESTS.",
            )
        seat.num_asking += 1
        try:
            # Whoever leaves while it is loading does not stop it for the others.
            yield await asyncio.shield(seat.loading)
        finally:
            seat.num_asking -= 1
            seat.last_asked_s = time.monotonic()

    async def close(self) -> None:
        """Stop every process."""
        if self._watch is not None:
            self._watch.cancel()
        for root in list(self._seats):
            self._send_away(root)
        if self._leaving:
            await asyncio.wait(self._leaving)

    def _seat(self, model: FoundModel) -> _Seat:
        seat = self._seats.get(model.root)
        if seat is not None and not seat.is_lost:
            return seat
        if seat is None:
            self._make_room()
        else:
            self._send_away(model.root)
        self._seats[model.root] = _Seat(asyncio.create_task(self._load(model)))
        if self._watch is None:
            self._watch = asyncio.create_task(self._send_idle_away())
        return self._seats[model.root]

    def _make_room(self) -> None:
        most = self._settings.serving_max_models
        if len(self._seats) < most:
            return
        idle = [root for root, seat in self._seats.items() if seat.is_idle]
        if not idle:
            raise ServingError(
                f"All {most} models that may be loaded at a time are answering.",
                next_step="Ask again in a moment, or raise TUNIX_RT_SERVING_MAX_MODELS.",
            )
        self._send_away(min(idle, key=lambda root: self._seats[root].last_asked_s))

    def _send_away(self, root: str) -> None:
        task = asyncio.create_task(self._seats.pop(root).leave())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _load(self, model: FoundModel) -> ModelProcess:
        if self._leaving:
            # Their memory may be what this one needs.
            await asyncio.wait(self._leaving)
        process = await self._start(model)
        try:
            await process.loaded()
        except BaseException:
            await process.close()
            raise
        return process

    async def _send_idle_away(self) -> None:
        while True:
            await asyncio.sleep(min(_LOOK_S, self._settings.serving_idle_s))
            oldest_s = time.monotonic() - self._settings.serving_idle_s
            for root, seat in list(self._seats.items()):
                if seat.is_lost or (seat.is_idle and seat.last_asked_s < oldest_s):
                    self._send_away(root)
