"""Model processes: started on first use, shared by all requests, stopped when idle."""

import asyncio
import itertools
import logging
import os
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import IO

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
    RequestStarted,
    to_line,
)

_log = logging.getLogger(__name__)
_MAX_LINE_BYTES = 1 << 24
_STDERR_TAIL_BYTES = 2_000
_CLOSE_TIMEOUT_S = 5.0
"""How long a process may take to exit after its standard input is closed."""
_IDLE_CHECK_S = 1.0


class ModelProcess:
    """One loaded model. The process exits when its standard input is closed."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: IO[bytes]) -> None:
        """Take over a process that was just started; `log` is the file of its standard error."""
        self.name = name
        self._exit_error: ServingError | None = None
        self._process = process
        self._log = log
        self._ids = itertools.count()
        self._queues: dict[int, asyncio.Queue[RequestStarted | CompletionDelta | Failed]] = {}
        self._ready: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, name: str, command: Sequence[str], environment: Mapping[str, str]) -> "ModelProcess":
        """Start the process; the model is loaded when `loaded` returns."""
        # A file, not a pipe: the process never blocks on output that nobody reads.
        log = tempfile.TemporaryFile(prefix="tunix-rt-model-")
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env=dict(environment),
                limit=_MAX_LINE_BYTES,
                # Ctrl-C in the server's terminal is for the server, which then closes standard input.
                start_new_session=True,
            )
        except OSError as error:
            log.close()
            raise ServingError(
                f"The process for {name} cannot be started: {error}.",
                next_step="Free memory or processes, then send the request again.",
            ) from error
        except BaseException:
            log.close()
            raise
        return cls(name, process, log)

    @property
    def is_alive(self) -> bool:
        """Whether the process accepts requests."""
        return self._exit_error is None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    async def loaded(self) -> Ready:
        """Wait until the model is loaded.

        Raises:
            TunixRTError: It cannot be loaded.
        """
        return await asyncio.shield(self._ready)

    async def generate(
        self, messages: Sequence[ChatMessage], decoding: Decoding, stops: Sequence[str]
    ) -> AsyncGenerator[RequestStarted | CompletionDelta, None]:
        """Yield events while the model generates; closing the generator cancels the request.

        Raises:
            TunixRTError: The model refuses the request, or its process has exited.
        """
        order_id = next(self._ids)
        queue = self._queues[order_id] = asyncio.Queue()
        num_open = decoding.num_samples
        try:
            self._send(
                GenerateRequest(
                    order_id=order_id, messages=tuple(messages), decoding=decoding, stops=tuple(stops)
                )
            )
            while num_open:
                event = await queue.get()
                if isinstance(event, Failed):
                    num_open = 0
                    raise event.error()
                num_open -= isinstance(event, CompletionDelta) and event.finish is not None
                yield event
        finally:
            del self._queues[order_id]
            if num_open and self.is_alive:
                self._send(CancelRequest(order_id=order_id))

    async def close(self) -> None:
        """Stop the process and return once it has exited."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(asyncio.shield(self._reader), _CLOSE_TIMEOUT_S)
        except TimeoutError:
            self._process.kill()
            await self._reader

    def _send(self, message: Record) -> None:
        if self._exit_error is not None:
            raise self._exit_error
        assert self._process.stdin is not None
        self._process.stdin.write(to_line(message))

    async def _read(self) -> None:
        """Dispatch events until the process exits, then fail every open request."""
        assert self._process.stdout is not None
        try:
            async for line in self._process.stdout:
                event = EVENTS.validate_json(line)
                if isinstance(event, Ready):
                    self._ready.set_result(event)
                elif event.order_id is None:
                    self._fail_loading(event.error())
                elif event.order_id in self._queues:
                    self._queues[event.order_id].put_nowait(event)
        except ValueError:
            _log.exception("The process serving %s wrote an invalid event; it is killed.", self.name)
            self._process.kill()
        await self._process.wait()
        self._exit_error = self._exit_as_error()
        self._log.close()
        self._fail_loading(self._exit_error)
        if self._queues:
            _log.warning("%s", self._exit_error.detail)
        for queue in self._queues.values():
            queue.put_nowait(Failed.of(self._exit_error))

    def _fail_loading(self, error: TunixRTError) -> None:
        if not self._ready.done():
            self._ready.set_exception(error)
            # Marks the exception as retrieved: perhaps nobody is waiting for it any more.
            self._ready.exception()

    def _exit_as_error(self) -> ServingError:
        code = self._process.returncode
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        size = os.fstat(self._log.fileno()).st_size
        tail = os.pread(self._log.fileno(), _STDERR_TAIL_BYTES, max(0, size - _STDERR_TAIL_BYTES))
        *_, last_line = tail.decode("utf-8", "replace").strip().splitlines() or [""]
        reason = f": {redacted(last_line)}" if last_line else "."
        return ServingError(
            f"The process serving {self.name} stopped ({how}){reason}",
            next_step="Send the request again to reload the model. If it stops again, try tunix-rt chat "
            f"{self.name}, or a device with more memory.",
        )


ProcessLauncher = Callable[[ServableModel], Awaitable[ModelProcess]]
"""Starts a process that loads the model."""


class _PoolEntry:
    """A model that is loaded or being loaded."""

    def __init__(self, loading: "asyncio.Task[ModelProcess]") -> None:
        self.loading = loading
        self.num_requests = 0
        self.last_used_s = time.monotonic()

    @property
    def process(self) -> ModelProcess | None:
        is_loaded = self.loading.done() and not self.loading.cancelled() and not self.loading.exception()
        return self.loading.result() if is_loaded else None

    @property
    def is_dead(self) -> bool:

        return self.loading.done() and (self.process is None or not self.process.is_alive)

    @property
    def is_idle(self) -> bool:

        return self.num_requests == 0 and self.loading.done()

    async def stop(self) -> None:
        """Stop the process and return once its memory is free."""
        if not self.loading.done():
            self.loading.cancel()
            await asyncio.wait([self.loading])
        if self.process is not None:
            await self.process.close()


class ModelPool:
    """Keeps up to `serving_max_models` models loaded and evicts the least recently used one."""

    def __init__(self, settings: Settings, launch: ProcessLauncher) -> None:
        """Create an empty pool; the first request starts the first process."""
        self._settings = settings
        self._launch = launch
        self._entries: dict[str, _PoolEntry] = {}
        self._stopping: set[asyncio.Task[None]] = set()
        self._idle_check: asyncio.Task[None] | None = None

    def is_loaded(self, root: str) -> bool:
        """Whether these weights can answer without loading."""
        entry = self._entries.get(root)
        return entry is not None and entry.process is not None and entry.process.is_alive

    @asynccontextmanager
    async def acquire(self, model: ServableModel) -> AsyncIterator[ModelProcess]:
        """Hold the process of a model for the context; the model is loaded first if necessary.

        Raises:
            ServingError: The pool or the queue of the model is full, or the process has exited.
            TunixRTError: The model cannot be loaded.
        """
        entry = self._get_or_load(model)
        if entry.num_requests >= self._settings.serving_max_requests:
            raise ServingError(
                f"{model.root} already has {entry.num_requests} requests.",
                next_step="Try again in a moment, or raise TUNIX_RT_SERVING_MAX_REQUESTS.",
            )
        entry.num_requests += 1
        try:
            # A client that disconnects while the model loads must not cancel loading for the others.
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

    def _get_or_load(self, model: ServableModel) -> _PoolEntry:
        entry = self._entries.get(model.root)
        if entry is not None and not entry.is_dead:
            return entry
        max_models = self._settings.serving_max_models
        if entry is not None:
            self._evict(model.root)
        elif len(self._entries) >= max_models:
            idle = [root for root, entry in self._entries.items() if entry.is_idle]
            if not idle:
                raise ServingError(
                    f"The maximum of {max_models} loaded models is reached, and all of them are in use.",
                    next_step="Try again in a moment, or raise TUNIX_RT_SERVING_MAX_MODELS.",
                )
            self._evict(min(idle, key=lambda root: self._entries[root].last_used_s))
        entry = self._entries[model.root] = _PoolEntry(asyncio.create_task(self._load(model)))
        if self._idle_check is None:
            self._idle_check = asyncio.create_task(self._evict_idle())
        return entry

    def _evict(self, root: str) -> None:
        task = asyncio.create_task(self._entries.pop(root).stop())
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)

    async def _load(self, model: ServableModel) -> ModelProcess:
        if self._stopping:
            # The new model may need the memory of those that are stopping.
            await asyncio.wait(self._stopping)
        process = await self._launch(model)
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
    """Launch processes that use the same home directory and database as this one."""
    options = ["--engine", settings.serving_engine, "--device", settings.serving_device]
    options += ["--max-rows", str(settings.serving_max_rows)]

    async def launch(model: ServableModel) -> ModelProcess:
        home = {"TUNIX_RT_HOME": str(settings.home_dir)}
        if settings.database_url is not None:
            home["TUNIX_RT_DATABASE_URL"] = settings.database_url
        # JAX would preallocate most of a GPU and leave nothing for the next model.
        environment = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", **os.environ, **home}
        # By module name: the server must not import an engine.
        command = [sys.executable, "-m", "tunix_rt.serving.child", model.argument, *options]
        return await ModelProcess.start(model.root, command, environment)

    return launch
