"""Many viewers of a run share one follower, and none blocks another."""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import event
from support.live_runs import LiveRun

from tunix_rt.base.errors import NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.runs.live import LiveMessage, RunReader
from tunix_rt.runs.routes.live import LiveRuns

on_sqlite = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
NEVER_S = 3600.0


@pytest.fixture
def run(store: Home) -> LiveRun:
    return LiveRun(store)


def live_runs(store: Home, *, poll_every_s: float = 0.01) -> LiveRuns:
    return LiveRuns(store, threading.Event(), poll_every_s=poll_every_s)


async def stream_run(
    live: LiveRuns, run_id: str, *, heartbeat_s: float = NEVER_S
) -> AsyncGenerator[bytes, None]:
    async with live.watching(run_id) as follower:
        reader = RunReader(follower.watch)
        async for text in live.messages(follower, reader, id_of=_cursor, heartbeat_s=heartbeat_s):
            yield text


def _cursor(message: LiveMessage) -> str:
    return str(message.cursor)


async def collect_text(stream: AsyncIterator[bytes]) -> str:
    return "".join([text.decode() async for text in stream])


@contextmanager
def count_statements(store: Home) -> Iterator[list[str]]:
    statements: list[str] = []

    def count(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        statements.append(statement)

    event.listen(store.database, "before_cursor_execute", count)
    yield statements
    event.remove(store.database, "before_cursor_execute", count)


def statements_for(store: Home, run: LiveRun, *, num_viewers: int) -> list[str]:
    async def main() -> list[str]:
        live = live_runs(store, poll_every_s=NEVER_S)
        texts = await asyncio.gather(
            *(collect_text(stream_run(live, run.run_id)) for _ in range(num_viewers))
        )
        await live.close()
        return texts

    with count_statements(store) as statements:
        texts = asyncio.run(main())
    assert len(set(texts)) == 1
    assert texts[0].count("event: log\n") == 1
    assert texts[0].endswith('event: status\ndata: {"status":"succeeded"}\n\n')
    return statements


def test_200_viewers_share_database_queries(store: Home, run: LiveRun) -> None:
    run.print("hello\n")
    run.finish()
    for_one = statements_for(store, run, num_viewers=1)
    assert len(statements_for(store, run, num_viewers=200)) <= len(for_one) < 10


@on_sqlite
def test_viewers_receive_live_updates(store: Home, run: LiveRun) -> None:
    async def main() -> list[str]:
        live = live_runs(store)
        run.print("before\n")
        viewers = [asyncio.create_task(collect_text(stream_run(live, run.run_id))) for _ in range(3)]
        run.print("during\n")
        await asyncio.to_thread(run.finish)
        texts = await asyncio.gather(*viewers)
        await live.close()
        return texts

    for text in asyncio.run(main()):
        assert "before\\n" in text
        assert "during\\n" in text
        assert "event: status\n" in text


@on_sqlite
def test_stalled_viewer_does_not_block_others(store: Home, run: LiveRun) -> None:
    run.print("x" * 100 + "\n")
    run.print(("y" * 200 + "\n") * 20_000)
    run.finish()

    async def main() -> str:
        live = live_runs(store)
        stalled = stream_run(live, run.run_id)
        await anext(stalled)
        text = await collect_text(stream_run(live, run.run_id))
        await stalled.aclose()
        await live.close()
        return text

    assert asyncio.run(main()).count("y" * 200) == 20_000


@on_sqlite
def test_last_viewer_closes_files(store: Home, run: LiveRun) -> None:
    run.print("hello\n")

    def num_open_files() -> int:
        output_inode = os.stat(run.job_dir.output).st_ino
        return sum(_inode(name) == output_inode for name in os.listdir("/proc/self/fd"))

    async def main() -> None:
        live = live_runs(store)
        streams = [stream_run(live, run.run_id) for _ in range(5)]
        for stream in streams:
            await anext(stream)
        assert num_open_files() == 1
        for stream in streams:
            await stream.aclose()
        await live.close()
        assert num_open_files() == 0

    asyncio.run(main())


def _inode(descriptor: str) -> int | None:
    try:
        return os.fstat(int(descriptor)).st_ino
    except OSError:
        return None


@on_sqlite
def test_run_can_be_watched_again(store: Home, run: LiveRun) -> None:
    run.finish()

    async def main() -> list[str]:
        live = live_runs(store)
        texts = [await collect_text(stream_run(live, run.run_id)) for _ in range(3)]
        await live.close()
        return texts

    assert len(set(asyncio.run(main()))) == 1


@on_sqlite
def test_shutdown_ends_active_streams(store: Home, run: LiveRun) -> None:
    run.print("hello\n")

    async def main() -> str:
        live = live_runs(store)
        stream = stream_run(live, run.run_id)
        text = (await anext(stream)).decode()
        rest = asyncio.create_task(collect_text(stream))
        await live.close()
        return text + await rest

    text = asyncio.run(main())
    assert "hello" in text
    assert "event: status" not in text


@on_sqlite
def test_idle_stream_sends_heartbeats(store: Home, run: LiveRun) -> None:
    run.print("hello\n")

    async def main() -> list[bytes]:
        live = live_runs(store, poll_every_s=NEVER_S)
        stream = stream_run(live, run.run_id, heartbeat_s=0.01)
        messages = [await anext(stream) for _ in range(3)]
        await stream.aclose()
        await live.close()
        return messages

    _, first, second = asyncio.run(main())
    assert first == second
    assert b'event: heartbeat\ndata: {"seq":6}\n\n' in first


def test_unknown_run_cannot_be_watched(store: Home) -> None:
    async def main() -> None:
        live = live_runs(store)
        streams = [collect_text(stream_run(live, "ghost")) for _ in range(3)]
        for outcome in await asyncio.gather(*streams, return_exceptions=True):
            assert isinstance(outcome, NotFoundError)
        await live.close()

    asyncio.run(main())
