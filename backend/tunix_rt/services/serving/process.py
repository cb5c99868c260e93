"""The process of one model, as the server holds it: started, asked, and gone with the server."""

import asyncio
import itertools
import logging
import os
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import ExitStack
from typing import IO

from tunix_rt.base.errors import ServingError, TunixRTError
from tunix_rt.base.logs import redacted
from tunix_rt.base.records import Record
from tunix_rt.core.chat.request import ChatMessage
from tunix_rt.engines.types import Decoding
from tunix_rt.services.serving.wire import (
    REPORTS,
    Begun,
    DropOrder,
    Failed,
    Ready,
    Report,
    Said,
    WriteOrder,
    line_of,
)

_log = logging.getLogger(__name__)
_LONGEST_LINE_BYTES = 1 << 24
_SHOWN_BYTES = 2_000
_CLOSING_S = 5.0
"""How long a process may take to see that nobody asks it any more."""


class ModelProcess:
    """One loaded model. Its standard input is its lifeline: when that ends, it ends."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: IO[bytes]) -> None:
        """Take a process that was just started, and the file of its standard error."""
        self.name = name
        self._death: ServingError | None = None
        self._process = process
        self._log = log
        self._ids = itertools.count()
        self._answers: dict[int, asyncio.Queue[Begun | Said | Failed]] = {}
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
        return self._death is None

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
    ) -> AsyncGenerator[Begun | Said, None]:
        """What the model says, while it says it. Whoever stops listening stops the writing.

        Raises:
            TunixRTError: The model cannot answer this, or its process has died.
        """
        order_id = next(self._ids)
        answers = self._answers[order_id] = asyncio.Queue()
        num_open = decoding.num_samples
        order = WriteOrder(order_id=order_id, messages=tuple(messages), decoding=decoding, stops=tuple(stops))
        try:
            self._send(order)
            while num_open:
                report = await answers.get()
                if isinstance(report, Failed):
                    num_open = 0
                    raise report.error()
                num_open -= isinstance(report, Said) and report.finish is not None
                yield report
        finally:
            del self._answers[order_id]
            if num_open and self.is_alive:
                self._send(DropOrder(order_id=order_id))

    async def close(self) -> None:
        """Let the process go; return when it is gone."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(asyncio.shield(self._reading), _CLOSING_S)
        except TimeoutError:
            self._process.kill()
            await self._reading

    def _send(self, message: Record) -> None:
        if self._death is not None:
            raise self._death
        assert self._process.stdin is not None
        self._process.stdin.write(line_of(message))

    async def _read(self) -> None:
        """Hand out reports until there are no more: then the process is dead."""
        assert self._process.stdout is not None
        try:
            async for line in self._process.stdout:
                self._hand_out(REPORTS.validate_json(line))
        except ValueError:
            _log.exception("The process of the model %s writes what nobody understands.", self.name)
            self._process.kill()
        await self._process.wait()
        self._end()

    def _hand_out(self, report: Report) -> None:
        if isinstance(report, Ready):
            self._ready.set_result(report)
        elif report.order_id is None:
            self._refuse(report.error())
        elif report.order_id in self._answers:
            self._answers[report.order_id].put_nowait(report)

    def _end(self) -> None:
        """Tell everybody who waits that nothing comes any more."""
        self._death = self._obituary()
        self._log.close()
        self._refuse(self._death)
        if self._answers:
            _log.warning("%s", self._death.detail)
        for answers in self._answers.values():
            answers.put_nowait(Failed.of(self._death))

    def _refuse(self, error: TunixRTError) -> None:
        if not self._ready.done():
            self._ready.set_exception(error)
            # Perhaps nobody waits for it any more.
            self._ready.exception()

    def _obituary(self) -> ServingError:
        code = self._process.returncode
        how = f"signal {-code}" if code is not None and code < 0 else f"exit {code}"
        said = self._last_words()
        return ServingError(
            f"The process of the model {self.name} has ended ({how}){': ' + said if said else '.'}",
            next_step="Ask again: the model is then loaded anew. If it ends again, try tunix-rt chat "
            f"{self.name}, or a device with more memory.",
        )

    def _last_words(self) -> str:
        size = os.fstat(self._log.fileno()).st_size
        tail = os.pread(self._log.fileno(), _SHOWN_BYTES, max(0, size - _SHOWN_BYTES))
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
            limit=_LONGEST_LINE_BYTES,
            # Ctrl-C in the server's terminal is for the server, which then closes the lifeline.
            start_new_session=True,
        )
    except OSError as error:
        raise ServingError(
            f"The process for {name} cannot be started: {error}.",
            next_step="Free memory or processes, then ask again.",
        ) from error
