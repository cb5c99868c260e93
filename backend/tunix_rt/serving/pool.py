"""Model processes: started on first use, stopped when idle."""

import asyncio
import itertools
import logging
import os
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from typing import IO, Protocol

from tunix_rt.base.errors import ServingError, TunixRTError
from tunix_rt.base.logs import redacted
from tunix_rt.base.records import Record
from tunix_rt.base.settings import Settings
from tunix_rt.engines.types import Decoding
from tunix_rt.serving.names import ServableModel
from tunix_rt.serving.types import ChatMessage
from tunix_rt.serving.wire import (
    EVENTS,
    CancelRequest,
    CompletionDelta,
    Failed,
    GenerateRequest,
    Ready,
    Report,
    RequestStarted,
    to_line,
)

_log = logging.getLogger(__name__)
_MAX_LINE_BYTES = 1 << 24
_STDERR_TAIL_BYTES = 2_000
_CLOSE_TIMEOUT_S = 5.0
"""How long a process may take to see that nobody asks it any more."""


class ModelProcess:
    """One loaded model. Its standard input is its lifeline: when that ends, it ends."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: IO[bytes]) -> None:
        """Take a process that was just started, and the file of its standard error."""
        self.name = name
        self._exit_error: ServingError | None = None
        self._process = process
        self._log = log
        self._ids = itertools.count()
        self._answers: dict[int, asyncio.Queue[RequestStarted | CompletionDelta | Failed]] = {}
        self._ready: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, name: str, command: Sequence[str], environment: Mapping[str, str]) -> "ModelProcess":
        """Start the process; the model is loaded when `loaded` returns."""
        # A file and not a pipe: whatever is printed, nobody has to read it for the process to go on.
        with ExitStack() as closing:
            log = closing.enter_context(tempfile.TemporaryFile(prefix="tunix-rt-model-"))
            process = await _started(name, command, environment, log)
            closing.pop_all()
        return cls(name, process, log)

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._exit_error is None

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    async def loaded(self) -> Ready:
        """Wait until the model can be asked.

        Raises:
            TunixRTError: It cannot be loaded.
        """
        return await asyncio.shield(self._ready)

    async def ask(
        self, messages: Sequence[ChatMessage], decoding: Decoding, stops: Sequence[str]
    ) -> AsyncGenerator[RequestStarted | CompletionDelta, None]:
        """What the model says, while it says it. Whoever stops listening stops the writing.

        Raises:
            TunixRTError: The model cannot answer this, or its process has died.
        """
        order_id = next(self._ids)
        answers = self._answers[order_id] = asyncio.Queue()
        num_open = decoding.num_samples
        order = GenerateRequest(
            order_id=order_id, messages=tuple(messages), decoding=decoding, stops=tuple(stops)
        )
        try:
            self._send(order)
            while num_open:
                report = await answers.get()
                if isinstance(report, Failed):
                    num_open = 0
                    raise report.error()
                num_open -= isinstance(report, CompletionDelta) and report.finish is not None
                yield report
        finally:
            del self._answers[order_id]
            if num_open and self.is_alive:
                self._send(CancelRequest(order_id=order_id))

    async def close(self) -> None:
        """Let the process go; return when it is gone."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(asyncio.shield(self._reading), _CLOSE_TIMEOUT_S)
        except TimeoutError:
            self._process.kill()
            await self._reading

    def _send(self, message: Record) -> None:
        if self._exit_error is not None:
            raise self._exit_error
        assert self._process.stdin is not None
        self._process.stdin.write(to_line(message))

    async def _read(self) -> None:
        """Hand out reports until there are no more: then the process is dead."""
        assert self._process.stdout is not None
        try:
            async for line in self._process.stdout:
                self._dispatch(EVENTS.validate_json(line))
        except ValueError:
            _log.exception("The process of the model %s writes what nobody understands.", self.name)
            self._process.kill()
        await self._process.wait()
        self._end()

    def _dispatch(self, report: Report) -> None:
        if isinstance(report, Ready):
            self._ready.set_result(report)
        elif report.order_id is None:
            self._refuse(report.error())
        elif report.order_id in self._answers:
            self._answers[report.order_id].put_nowait(report)

    def _end(self) -> None:
        """Tell everybody who waits that nothing comes any more."""
        self._exit_error = self._exit_as_error()
        self._log.close()
        self._refuse(self._exit_error)
        if self._answers:
            _log.warning("%s", self._exit_error.detail)
        for answers in self._answers.values():
            answers.put_nowait(Failed.of(self._exit_error))

    def _refuse(self, error: TunixRTError) -> None:
        if not self._ready.done():
            self._ready.set_exception(error)
            # Perhaps nobody waits for it any more.
            self._ready.exception()

    def _exit_as_error(self) -> ServingError:
        code = self._process.returncode
        how = f"signal {-code}" if code is not None and code < 0 else f"exit {code}"
        said = self._last_stderr_line()
        return ServingError(
            f"The process of the model {self.name} has ended ({how}){': ' + said if said else '.'}",
            next_step="Ask again: the model is then loaded anew. If it ends again, try tunix-rt chat "
            f"{self.name}, or a device with more memory.",
        )

    def _last_stderr_line(self) -> str:
        size = os.fstat(self._log.fileno()).st_size
        tail = os.pread(self._log.fileno(), _STDERR_TAIL_BYTES, max(0, size - _STDERR_TAIL_BYTES))
        *_, last = tail.decode("utf-8", "replace").strip().splitlines() or [""]
        return redacted(last)


async def _started(
    name: str, command: Sequence[str], environment: Mapping[str, str], log: IO[bytes]
) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            env=dict(environment),
            limit=_MAX_LINE_BYTES,
            # Ctrl-C in the server's terminal is for the server, which then closes the lifeline.
            start_new_session=True,
        )
    except OSError as error:
        raise ServingError(
            f"The process for {name} cannot be started: {error}.",
            next_step="Free memory or processes, then ask again.",
        ) from error


_IDLE_CHECK_S = 1.0


class ProcessLauncher(Protocol):
    """Starts the process of a model."""

    async def __call__(self, model: ServableModel) -> ModelProcess:
        """A process that loads the model."""


class _PoolEntry:
    """A model that is loaded, or being loaded."""

    def __init__(self, loading: "asyncio.Task[ModelProcess]") -> None:
        self.loading = loading
        self.num_requests = 0
        self.last_used_s = time.monotonic()

    @property
    def process(self) -> ModelProcess | None:
        """Once it is loaded."""
        is_loaded = self.loading.done() and not self.loading.cancelled() and not self.loading.exception()
        return self.loading.result() if is_loaded else None

    @property
    def is_dead(self) -> bool:
        """Whether it could not be loaded, or has died."""
        return self.loading.done() and (self.process is None or not self.process.is_alive)

    @property
    def is_idle(self) -> bool:
        """Whether nobody asks it."""
        return self.num_requests == 0 and self.loading.done()

    async def leave(self) -> None:
        """Stop the process; return when its memory is free."""
        if not self.loading.done():
            self.loading.cancel()
            await asyncio.wait([self.loading])
        if self.process is not None:
            await self.process.close()


class ModelPool:
    """At most so many models at a time; the one that was asked least recently gives way."""

    def __init__(self, settings: Settings, start: ProcessLauncher) -> None:
        """Nothing is started before somebody asks."""
        self._settings = settings
        self._start = start
        self._entries: dict[str, _PoolEntry] = {}
        self._stopping: set[asyncio.Task[None]] = set()
        self._idle_check: asyncio.Task[None] | None = None

    def is_loaded(self, root: str) -> bool:
        """Whether the weights answer at once."""
        entry = self._entries.get(root)
        return entry is not None and entry.process is not None and entry.process.is_alive

    @asynccontextmanager
    async def acquire(self, model: ServableModel) -> AsyncIterator[ModelProcess]:
        """The process of a model, for as long as the context; loaded first where it is not.

        Raises:
            ServingError: No place is free, or the process has died.
            TunixRTError: The model cannot be loaded.
        """
        entry = self._entry(model)
        if entry.num_requests >= self._settings.serving_max_requests:
            raise ServingError(
                f"{entry.num_requests} requests wait for {model.root} already.",
                next_step="Ask again in a moment, or raise TUNIX_RT_SERVING_MAX_REQUESTS.",
            )
        entry.num_requests += 1
        try:
            # Whoever leaves while it is loading does not stop it for the others.
            yield await asyncio.shield(entry.loading)
        finally:
            entry.num_requests -= 1
            entry.last_used_s = time.monotonic()

    async def close(self) -> None:
        """Stop every process."""
        if self._idle_check is not None:
            self._idle_check.cancel()
        for root in list(self._entries):
            self._evict(root)
        if self._stopping:
            await asyncio.wait(self._stopping)

    def _entry(self, model: ServableModel) -> _PoolEntry:
        entry = self._entries.get(model.root)
        if entry is not None and not entry.is_dead:
            return entry
        if entry is None:
            self._make_room()
        else:
            self._evict(model.root)
        self._entries[model.root] = _PoolEntry(asyncio.create_task(self._load(model)))
        if self._idle_check is None:
            self._idle_check = asyncio.create_task(self._evict_idle())
        return self._entries[model.root]

    def _make_room(self) -> None:
        most = self._settings.serving_max_models
        if len(self._entries) < most:
            return
        idle = [root for root, entry in self._entries.items() if entry.is_idle]
        if not idle:
            raise ServingError(
                f"All {most} models that may be loaded at a time are answering.",
                next_step="Ask again in a moment, or raise TUNIX_RT_SERVING_MAX_MODELS.",
            )
        self._evict(min(idle, key=lambda root: self._entries[root].last_used_s))

    def _evict(self, root: str) -> None:
        task = asyncio.create_task(self._entries.pop(root).leave())
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)

    async def _load(self, model: ServableModel) -> ModelProcess:
        if self._stopping:
            # Their memory may be what this one needs.
            await asyncio.wait(self._stopping)
        process = await self._start(model)
        try:
            await process.loaded()
        except BaseException:
            await process.close()
            raise
        return process

    async def _evict_idle(self) -> None:
        while True:
            await asyncio.sleep(min(_IDLE_CHECK_S, self._settings.serving_idle_s))
            oldest_s = time.monotonic() - self._settings.serving_idle_s
            for root, entry in list(self._entries.items()):
                if entry.is_dead or (entry.is_idle and entry.last_used_s < oldest_s):
                    self._evict(root)


def process_launcher(settings: Settings) -> ProcessLauncher:
    """Starts processes that use the same home and database as this one."""

    async def start(model: ServableModel) -> ModelProcess:
        return await ModelProcess.start(model.root, _command(settings, model), _environment(settings))

    return start


def _command(settings: Settings, model: ServableModel) -> list[str]:
    where = ["--engine", settings.serving_engine, "--device", settings.serving_device]
    rows = ["--max-rows", str(settings.serving_max_rows)]
    # By name: the services and the command line's engines do not import each other.
    return [sys.executable, "-m", "tunix_rt.serving.child", model.argument, *where, *rows]


def _environment(settings: Settings) -> dict[str, str]:
    named = {"TUNIX_RT_HOME": str(settings.home_dir)}
    if settings.database_url is not None:
        named["TUNIX_RT_DATABASE_URL"] = settings.database_url
    # JAX would take most of a GPU at once, and the next model would find none left.
    return {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", **os.environ, **named}
