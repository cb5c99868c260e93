"""The model pool starts, shares and evicts processes and never leaks one. The processes are real."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.model_starts import ChildStarts

from tunix_rt.base.errors import DataError, ServingError
from tunix_rt.base.settings import Settings
from tunix_rt.engines.types import Decoding
from tunix_rt.serving.names import ServableModel
from tunix_rt.serving.pool import ModelPool, ModelProcess
from tunix_rt.serving.types import ChatMessage
from tunix_rt.serving.wire import CompletionDelta, RequestStarted

DEADLINE_S = 60


def model(name: str) -> ServableModel:
    return ServableModel(name, name, datetime(2026, 1, 1, tzinfo=UTC))


@asynccontextmanager
async def open_pool(**settings: Any) -> AsyncIterator[tuple[ModelPool, ChildStarts]]:
    starts = ChildStarts()
    pool = ModelPool(Settings(**settings), starts)
    try:
        yield pool, starts
    finally:
        await pool.close()
    assert not any(process.is_alive for process in starts.processes)
    assert not any(Path(f"/proc/{process.pid}").exists() for process in starts.processes)


async def complete(pool: ModelPool, text: str, name: str = "a") -> str:
    async with pool.acquire(model(name)) as process:
        return "".join(
            [event.content async for event in events(process, text) if isinstance(event, CompletionDelta)]
        )


def events(process: ModelProcess, text: str) -> AsyncIterator[RequestStarted | CompletionDelta]:
    return process.generate([ChatMessage(role="user", content=text)], Decoding(), [])


async def wait_until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not await condition():
            await asyncio.sleep(0.01)


def test_concurrent_requests_share_one_process() -> None:
    async def run() -> None:
        async with open_pool() as (pool, starts):
            answers = await asyncio.gather(*(complete(pool, "who are you?") for _ in range(5)))
            assert set(answers) == {f"well, {starts.processes[0].pid}"}
            assert len(starts.processes) == 1
            assert pool.is_loaded("a")

    asyncio.run(run())


def test_crash_restarts_on_next_request() -> None:
    async def run() -> None:
        async with open_pool() as (pool, starts):
            with pytest.raises(
                ServingError, match=r"\(exit code 9\): RuntimeError: the device is gone"
            ) as caught:
                await complete(pool, "die")
            assert "Send the request again" in caught.value.next_step
            assert not pool.is_loaded("a")
            assert await complete(pool, "echo") == "well, echo"
            assert len(starts.processes) == 2

    asyncio.run(run())


def test_invalid_event_kills_process(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with open_pool() as (pool, _):
            with pytest.raises(ServingError, match=r"\(signal 9\)"):
                await complete(pool, "babble")

    asyncio.run(run())
    assert "wrote an invalid event" in caplog.text


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [("broken", DataError, "weights are damaged"), ("fading", ServingError, r"stopped \(exit code 0\)")],
)
def test_loading_error_is_not_cached(name: str, error: type[Exception], message: str) -> None:
    async def run() -> None:
        async with open_pool() as (pool, starts):
            for number in (1, 2):
                with pytest.raises(error, match=message):
                    await complete(pool, "echo", name)
                assert len(starts.processes) == number

    asyncio.run(run())


def test_rejected_request_does_not_affect_others() -> None:
    async def run() -> None:
        async with open_pool() as (pool, starts):
            refused, answered = await asyncio.gather(
                complete(pool, "refuse"), complete(pool, "echo"), return_exceptions=True
            )
            assert isinstance(refused, DataError)
            assert answered == "well, echo"
            assert len(starts.processes) == 1

    asyncio.run(run())


def test_closing_stream_cancels_request() -> None:
    async def run() -> None:
        async with open_pool() as (pool, _):
            async with pool.acquire(model("a")) as process, aclosing(events(process, "wait")) as received:  # type: ignore[type-var]
                assert isinstance(await anext(received), RequestStarted)
                assert await complete(pool, "who waits?") == "well, 1"
            assert await complete(pool, "who waits?") == "well, 0"

    asyncio.run(run())


def test_least_recently_used_model_is_evicted() -> None:
    async def run() -> None:
        async with open_pool(serving_max_models=2) as (pool, _):
            for name in ("a", "b", "a", "c"):
                await complete(pool, "echo", name)
            assert [name for name in "abc" if pool.is_loaded(name)] == ["a", "c"]

    asyncio.run(run())


def test_pool_enforces_model_and_request_limits() -> None:
    async def run() -> None:
        async with (
            open_pool(serving_max_models=1, serving_max_requests=1) as (pool, _),
            pool.acquire(model("a")),
        ):
            with pytest.raises(ServingError, match="maximum of 1 loaded models"):
                await complete(pool, "echo", "b")
            with pytest.raises(ServingError, match="a already has 1 requests"):
                await complete(pool, "echo", "a")

    asyncio.run(run())


def test_idle_model_is_stopped() -> None:
    async def run() -> None:
        async with open_pool(serving_idle_s=0.01) as (pool, starts):
            await complete(pool, "echo")

            async def is_gone() -> bool:
                return not starts.processes[0].is_alive

            await wait_until(is_gone)
            assert await complete(pool, "echo") == "well, echo"

    asyncio.run(run())


def test_disconnect_does_not_cancel_loading() -> None:
    async def run() -> None:
        async with open_pool() as (pool, starts):
            cancelled = asyncio.create_task(complete(pool, "echo"))
            waiting = asyncio.create_task(complete(pool, "echo"))
            await asyncio.sleep(0)
            cancelled.cancel()
            assert await waiting == "well, echo"
            assert cancelled.cancelled()
            assert len(starts.processes) == 1

    asyncio.run(run())


def test_close_stops_loading_process() -> None:
    async def run() -> None:
        async with open_pool() as (pool, starts):
            request = asyncio.create_task(complete(pool, "echo", "stuck"))

            async def is_started() -> bool:
                return bool(starts.processes)

            await wait_until(is_started)
            await pool.close()
            with pytest.raises(asyncio.CancelledError):
                await request

    asyncio.run(run())
