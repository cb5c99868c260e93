"""Threads that read for the event loop."""

import asyncio
import threading
from contextvars import ContextVar

import pytest

from tunix_rt.api.read_threads import ReadThreads

WHO = ContextVar("who", default="nobody")


def test_what_a_read_returns_or_raises_comes_back_to_its_caller() -> None:
    threads = ReadThreads(2)

    async def quotient(divisor: int) -> int:
        return await threads.run(lambda: 6 // divisor)

    assert asyncio.run(quotient(3)) == 2
    with pytest.raises(ZeroDivisionError):
        asyncio.run(quotient(0))


def test_a_read_sees_the_context_of_its_caller_and_leaves_it_alone() -> None:
    def introduce() -> str:
        before = WHO.get()
        WHO.set("somebody else")
        return before

    async def read() -> tuple[str, str]:
        WHO.set("me")
        return await ReadThreads(1).run(introduce), WHO.get()

    assert asyncio.run(read()) == ("me", "me")


def test_no_more_reads_go_on_at_once_than_there_are_threads() -> None:
    together = threading.Barrier(2)

    async def reads() -> set[str]:
        threads = ReadThreads(2)

        def read() -> str:
            together.wait(60)
            return threading.current_thread().name + str(threading.get_ident())

        return set(await asyncio.gather(*(threads.run(read) for _ in range(6))))

    assert len(asyncio.run(reads())) == 2


def test_a_caller_that_has_left_is_not_told_and_the_threads_go_on() -> None:
    begun, may_end = threading.Event(), threading.Event()
    threads = ReadThreads(1)

    def wait() -> None:
        begun.set()
        may_end.wait(60)

    async def leave() -> None:
        reading = asyncio.ensure_future(threads.run(wait))
        await asyncio.to_thread(begun.wait, 60)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    async def read_again() -> int:
        return await threads.run(lambda: 7)

    asyncio.run(leave())
    may_end.set()  # its event loop is closed by now
    assert asyncio.run(read_again()) == 7
