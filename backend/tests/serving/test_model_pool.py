"""Processes of models: started when asked, shared, given up, and never left behind. They are real ones."""

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
async def a_pool(**settings: Any) -> AsyncIterator[tuple[ModelPool, ChildStarts]]:
    starts = ChildStarts()
    pool = ModelPool(Settings(**settings), starts)
    try:
        yield pool, starts
    finally:
        await pool.close()
    assert not any(process.is_alive for process in starts.processes)
    assert not any(Path(f"/proc/{process.pid}").exists() for process in starts.processes)


async def said(pool: ModelPool, text: str, name: str = "a") -> str:
    """All that a model says."""
    async with pool.acquire(model(name)) as process:
        return "".join(
            [report.content async for report in asked(process, text) if isinstance(report, CompletionDelta)]
        )


def asked(process: ModelProcess, text: str) -> AsyncIterator[RequestStarted | CompletionDelta]:
    return process.ask([ChatMessage(role="user", content=text)], Decoding(), [])


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not await is_so():
            await asyncio.sleep(0.01)


def test_requests_that_come_together_share_one_process() -> None:
    async def run() -> None:
        async with a_pool() as (pool, starts):
            answers = await asyncio.gather(*(said(pool, "who are you?") for _ in range(5)))
            assert set(answers) == {f"well, {starts.processes[0].pid}"}
            assert len(starts.processes) == 1
            assert pool.is_loaded("a")

    asyncio.run(run())


def test_a_death_is_told_to_whoever_waits_and_the_next_request_starts_anew() -> None:
    async def run() -> None:
        async with a_pool() as (pool, starts):
            with pytest.raises(ServingError, match=r"\(exit 9\): RuntimeError: the device is gone") as died:
                await said(pool, "die")
            assert "Ask again" in died.value.next_step
            assert not pool.is_loaded("a")
            assert await said(pool, "echo") == "well, echo"
            assert len(starts.processes) == 2

    asyncio.run(run())


def test_a_process_that_writes_nonsense_is_ended(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with a_pool() as (pool, _):
            with pytest.raises(ServingError, match=r"\(signal 9\)"):
                await said(pool, "babble")

    asyncio.run(run())
    assert "what nobody understands" in caplog.text


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [("broken", DataError, "weights are damaged"), ("fading", ServingError, r"has ended \(exit 0\)")],
)
def test_a_model_that_cannot_be_loaded_says_why_each_time(
    name: str, error: type[Exception], words: str
) -> None:
    async def run() -> None:
        async with a_pool() as (pool, starts):
            for number in (1, 2):
                with pytest.raises(error, match=words):
                    await said(pool, "echo", name)
                assert len(starts.processes) == number

    asyncio.run(run())


def test_a_request_that_is_refused_leaves_the_others_alone() -> None:
    async def run() -> None:
        async with a_pool() as (pool, starts):
            refused, answered = await asyncio.gather(
                said(pool, "refuse"), said(pool, "echo"), return_exceptions=True
            )
            assert isinstance(refused, DataError)
            assert answered == "well, echo"
            assert len(starts.processes) == 1

    asyncio.run(run())


def test_whoever_stops_listening_stops_the_writing() -> None:
    async def run() -> None:
        async with a_pool() as (pool, _):
            async with pool.acquire(model("a")) as process, aclosing(asked(process, "wait")) as reports:  # type: ignore[type-var]
                assert isinstance(await anext(reports), RequestStarted)
                assert await said(pool, "who waits?") == "well, 1"
            assert await said(pool, "who waits?") == "well, 0"

    asyncio.run(run())


def test_the_model_that_was_asked_least_recently_gives_way() -> None:
    async def run() -> None:
        async with a_pool(serving_max_models=2) as (pool, _):
            for name in ("a", "b", "a", "c"):
                await said(pool, "echo", name)
            assert [name for name in "abc" if pool.is_loaded(name)] == ["a", "c"]

    asyncio.run(run())


def test_a_model_that_is_answering_does_not_give_way() -> None:
    async def run() -> None:
        async with (
            a_pool(serving_max_models=1, serving_max_requests=1) as (pool, _),
            pool.acquire(model("a")),
        ):
            with pytest.raises(ServingError, match="All 1 models that may be loaded"):
                await said(pool, "echo", "b")
            with pytest.raises(ServingError, match="1 requests wait for a already"):
                await said(pool, "echo", "a")

    asyncio.run(run())


def test_a_model_that_nobody_asks_is_stopped() -> None:
    async def run() -> None:
        async with a_pool(serving_idle_s=0.01) as (pool, starts):
            await said(pool, "echo")

            async def is_gone() -> bool:
                return not starts.processes[0].is_alive

            await until(is_gone)
            assert await said(pool, "echo") == "well, echo"

    asyncio.run(run())


def test_a_client_that_leaves_while_a_model_loads_does_not_stop_it_for_the_others() -> None:
    async def run() -> None:
        async with a_pool() as (pool, starts):
            impatient = asyncio.create_task(said(pool, "echo"))
            patient = asyncio.create_task(said(pool, "echo"))
            await asyncio.sleep(0)
            impatient.cancel()
            assert await patient == "well, echo"
            assert impatient.cancelled()
            assert len(starts.processes) == 1

    asyncio.run(run())


def test_a_process_that_was_just_started_is_not_left_behind() -> None:
    async def run() -> None:
        async with a_pool() as (pool, starts):
            asking = asyncio.create_task(said(pool, "echo"))

            async def is_started() -> bool:
                return bool(starts.processes)

            await until(is_started)
            await pool.close()
            with pytest.raises(asyncio.CancelledError):
                await asking

    asyncio.run(run())
