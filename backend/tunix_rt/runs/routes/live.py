"""Server-sent events; one follower per run however many viewers.

follower   looks at the run twice a second, wakes its viewers when something is new, ends with the last one
viewer     reads from its own place at its own pace; what it holds in memory is one chunk
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
from tunix_rt.runs.live import LOOK_EVERY_S, Cursor, LiveMessage, RunReader, RunWatch, parse_cursor

HEARTBEAT_S = 5.0
_MAX_THREADS = 4
"""That read for viewers at a time: many of them do not keep other requests waiting for a thread."""

logger = logging.getLogger(__name__)


class Follower:
    """A run that is being followed, as its viewers see it."""

    def __init__(self, opening: "asyncio.Task[RunWatch]") -> None:
        self.opening = opening
        self.num_viewers = 0
        self.last_viewer_left = asyncio.Event()
        self.changed = asyncio.Event()
        """Set at the next change: whoever waits for it takes it before it reads."""
        self.has_stopped = False
        """Whether nothing more will be seen."""

    @property
    def watch(self) -> RunWatch:
        """The run; it is open for whoever is among the viewers."""
        return self.opening.result()

    def wake_viewers(self) -> None:
        """Tell everybody who waits that there is something to read."""
        self.changed.set()
        self.changed = asyncio.Event()


class LiveRuns:
    """The followers of one server. Everything but reading happens in its event loop."""

    def __init__(self, home: Home, stopping: threading.Event, *, look_every_s: float = LOOK_EVERY_S) -> None:
        """Nothing is followed yet.

        Args:
            home: of the runs.
            stopping: set when the server is told to stop: every stream ends soon after.
            look_every_s: how often a run is looked at.
        """
        self._home = home
        self._stopping = stopping
        self._look_every_s = look_every_s
        self._followers: dict[str, Follower] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._threads = anyio.CapacityLimiter(_MAX_THREADS)

    @asynccontextmanager
    async def watching(self, run_id: str) -> AsyncIterator[Follower]:
        """Be one of the viewers of a run.

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
                self._forget(run_id, follower)

    async def messages(
        self,
        follower: Follower,
        reader: RunReader,
        *,
        id_of: Callable[[LiveMessage], str],
        heartbeat_s: float = HEARTBEAT_S,
    ) -> AsyncIterator[bytes]:
        """What a viewer is sent, until the run has ended, the viewer leaves or the server stops."""

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
        """Wait until no run is followed any more; the viewers have left, or are about to."""
        self._stopping.set()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _start(self, run_id: str) -> Follower:
        follower = Follower(asyncio.create_task(self._open(run_id)))
        self._followers[run_id] = follower
        task = asyncio.create_task(self._follow(follower))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return follower

    def _forget(self, run_id: str, follower: Follower) -> None:
        follower.last_viewer_left.set()
        if self._followers.get(run_id) is follower:
            del self._followers[run_id]

    async def _open(self, run_id: str) -> RunWatch:
        return await anyio.to_thread.run_sync(RunWatch, self._home, run_id, limiter=self._threads)

    async def _follow(self, follower: Follower) -> None:
        await asyncio.wait([follower.opening])
        if follower.opening.exception() is not None:
            return  # every viewer has been told
        with closing(follower.watch):
            try:
                await self._keep_looking(follower)
            except TunixRTError:
                logger.exception("The run %s cannot be followed any more", follower.watch.run_id)
            finally:
                follower.has_stopped = True
                follower.wake_viewers()
            # Not before: a viewer may be reading.
            await follower.last_viewer_left.wait()

    async def _keep_looking(self, follower: Follower) -> None:
        while True:
            with anyio.move_on_after(self._look_every_s):
                await follower.last_viewer_left.wait()
            if self._stopping.is_set() or follower.last_viewer_left.is_set():
                return
            if await anyio.to_thread.run_sync(follower.watch.look, limiter=self._threads):
                follower.wake_viewers()


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
    # Left when the answer has been sent or the viewer is gone, not when the route returns.
    async with live.watching(run_id) as follower:
        yield follower


Following = Annotated[Follower, Depends(_follower)]
Seq = Annotated[int, Query(ge=0, le=_MAX_SEQ, description="`seq` of the last chunk that you have")]


@router.get("/{run_id}/logs", responses=_EVENT_STREAM, response_class=Response)
async def stream_log(
    live: Live,
    follower: Following,
    since_seq: Seq = 0,
    last_event_id: Annotated[int | None, Header(ge=0, le=_MAX_SEQ)] = None,
) -> StreamingResponse:
    """What a run prints, while it prints it: `log`, `heartbeat`, at last `status`. 404 if unknown.

    The id of a message is its `seq`; whoever comes back with it gets exactly what was missed.
    """
    seq = since_seq if last_event_id is None else last_event_id
    reader = RunReader(follower.watch, Cursor(log=seq), sources=["log"])
    return sse_response(live.messages(follower, reader, id_of=lambda message: str(message.cursor.log)))


@router.get("/{run_id}/stream", responses=_EVENT_STREAM, response_class=Response)
async def stream_run(
    live: Live,
    follower: Following,
    cursor: Annotated[str, Query(max_length=200, description="`id` of the last message that you have")] = "",
    last_event_id: Annotated[str, Header(max_length=200)] = "",
) -> StreamingResponse:
    """Everything of a run: `service`, `event`, `metrics`, `rewind`, `log`, `heartbeat`, at last `status`.

    Whoever comes back with the id of the last message gets exactly what was missed. 404 if unknown.
    """
    place = last_event_id or cursor
    reader = RunReader(follower.watch, parse_cursor(place) if place else None)
    return sse_response(live.messages(follower, reader, id_of=lambda message: str(message.cursor)))
