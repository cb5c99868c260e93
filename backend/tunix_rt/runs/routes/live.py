"""Server-sent events; one follower per run however many viewers.

follower   refreshes the run twice a second, wakes its viewers if anything is new, ends with the last viewer
viewer     reads from its own cursor at its own pace; it holds one chunk in memory
"""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from typing import Annotated

import anyio
from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from tunix_rt.base.errors import TunixRTError
from tunix_rt.base.home import Home
from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.transfers import sse_message, sse_response, text_answer
from tunix_rt.engines.training.types import RUN_ID_PATTERN
from tunix_rt.runs.live import POLL_EVERY_S, Cursor, LiveMessage, RunReader, RunWatch, parse_cursor

HEARTBEAT_S = 5.0
_MAX_THREADS = 4
"""Threads that read for viewers: many viewers do not block other requests."""

logger = logging.getLogger(__name__)


class Follower:
    """A followed run, as its viewers see it."""

    def __init__(self, opening: "asyncio.Task[RunWatch]") -> None:
        self.opening = opening
        self.num_viewers = 0
        self.last_viewer_left = asyncio.Event()
        self.changed = asyncio.Event()
        """Set at the next change: take it before reading, then wait for it."""
        self.has_stopped = False
        """Whether it has stopped refreshing."""

    @property
    def watch(self) -> RunWatch:
        """The run; open while there are viewers."""
        return self.opening.result()

    def wake_viewers(self) -> None:
        """Wake the viewers that wait for a change."""
        self.changed.set()
        self.changed = asyncio.Event()


class LiveRuns:
    """The followers of one server. Everything except reading happens in its event loop."""

    def __init__(self, home: Home, stopping: threading.Event, *, poll_every_s: float = POLL_EVERY_S) -> None:
        """Start without followers.

        Args:
            home: Of the runs.
            stopping: Set when the server stops: every stream ends soon after.
            poll_every_s: Seconds between refreshes of a run.
        """
        self._home = home
        self._stopping = stopping
        self._poll_every_s = poll_every_s
        self._followers: dict[str, Follower] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._threads = anyio.CapacityLimiter(_MAX_THREADS)

    @asynccontextmanager
    async def watching(self, run_id: str) -> AsyncIterator[Follower]:
        """View a run.

        Raises:
            NotFoundError: There is no such run.
        """
        follower = self._followers.get(run_id) or self._start(run_id)
        follower.num_viewers += 1
        try:
            await asyncio.shield(follower.opening)
            yield follower
        finally:
            follower.num_viewers -= 1
            if follower.num_viewers == 0:
                follower.last_viewer_left.set()
                if self._followers.get(run_id) is follower:
                    del self._followers[run_id]

    async def messages(
        self,
        follower: Follower,
        reader: RunReader,
        *,
        id_of: Callable[[LiveMessage], str],
        heartbeat_s: float = HEARTBEAT_S,
    ) -> AsyncIterator[bytes]:
        """The stream of a viewer, until the run has ended, the viewer disconnects or the server stops."""

        def read() -> bytes:
            return b"".join(sse_message(one.kind, one.data, id_of(one)) for one in reader.read())

        while not follower.has_stopped and not reader.is_finished:
            changed = follower.changed
            if text := await anyio.to_thread.run_sync(read, limiter=self._threads):
                yield text
                continue
            with anyio.move_on_after(heartbeat_s) as waiting:
                await changed.wait()
            if waiting.cancelled_caught:
                beat = reader.heartbeat()
                yield sse_message(beat.kind, beat.data, id_of(beat))

    async def close(self) -> None:
        """Stop all followers and wait for them."""
        self._stopping.set()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _start(self, run_id: str) -> Follower:
        opening = anyio.to_thread.run_sync(RunWatch, self._home, run_id, limiter=self._threads)
        follower = Follower(asyncio.create_task(opening))
        self._followers[run_id] = follower
        task = asyncio.create_task(self._follow(follower))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return follower

    async def _follow(self, follower: Follower) -> None:
        await asyncio.wait([follower.opening])
        if follower.opening.exception() is not None:
            return  # every viewer gets the error
        with closing(follower.watch):
            try:
                while True:
                    with anyio.move_on_after(self._poll_every_s):
                        await follower.last_viewer_left.wait()
                    if self._stopping.is_set() or follower.last_viewer_left.is_set():
                        break
                    if await anyio.to_thread.run_sync(follower.watch.refresh, limiter=self._threads):
                        follower.wake_viewers()
            except TunixRTError:
                logger.exception("The run %s cannot be followed any more", follower.watch.run_id)
            finally:
                follower.has_stopped = True
                follower.wake_viewers()
            # Not before: a viewer may be reading.
            await follower.last_viewer_left.wait()


router = APIRouter(prefix="/api/tunix/runs", tags=["live runs"], responses=error_responses(404))

_EVENT_STREAM = text_answer("text/event-stream")
_MAX_SEQ = 10**15 - 1


async def _live(request: Request) -> LiveRuns:
    live: LiveRuns = request.app.state.live
    return live


Live = Annotated[LiveRuns, Depends(_live)]


async def _follower(
    run_id: Annotated[str, Path(pattern=RUN_ID_PATTERN)], live: Live
) -> AsyncIterator[Follower]:
    # Exits when the response has been sent or the viewer has disconnected, not when the route returns.
    async with live.watching(run_id) as follower:
        yield follower


Following = Annotated[Follower, Depends(_follower)]
Seq = Annotated[int, Query(ge=0, le=_MAX_SEQ, description="`seq` of the last chunk that you received")]


@router.get("/{run_id}/logs", responses=_EVENT_STREAM, response_class=Response)
async def stream_log(
    live: Live,
    follower: Following,
    since_seq: Seq = 0,
    last_event_id: Annotated[int | None, Header(ge=0, le=_MAX_SEQ)] = None,
) -> StreamingResponse:
    """The output of a run, live: `log`, `heartbeat` and finally `status` messages. 404 if unknown.

    The id of a message is its `seq`; a client that reconnects with it gets exactly what it missed.
    """
    seq = since_seq if last_event_id is None else last_event_id
    reader = RunReader(follower.watch, Cursor(log=seq), sources=["log"])
    return sse_response(live.messages(follower, reader, id_of=lambda message: str(message.cursor.log)))


@router.get("/{run_id}/stream", responses=_EVENT_STREAM, response_class=Response)
async def stream_run(
    live: Live,
    follower: Following,
    cursor: Annotated[
        str, Query(max_length=200, description="`id` of the last message that you received")
    ] = "",
    last_event_id: Annotated[str, Header(max_length=200)] = "",
) -> StreamingResponse:
    """All messages of a run: `service`, `event`, `metrics`, `rewind`, `log`, `heartbeat`, finally `status`.

    A client that reconnects with the id of its last message gets exactly what it missed. 404 if unknown.
    """
    last_id = last_event_id or cursor
    reader = RunReader(follower.watch, parse_cursor(last_id) if last_id else None)
    return sse_response(live.messages(follower, reader, id_of=lambda message: str(message.cursor)))
