"""Runs that somebody is watching: one follower each, however many viewers there are.

follower   looks at the run twice a second, wakes its viewers when something is new, ends with the last one
viewer     reads from its own place at its own pace; what it holds in memory is one chunk
"""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing

import anyio

from tunix_rt.base.errors import TunixRTError
from tunix_rt.base.home import Home
from tunix_rt.base.http.transfers import sse_message
from tunix_rt.services.runs.following import LOOK_EVERY_S, RunWatch
from tunix_rt.services.runs.live import LiveMessage, RunReader

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
