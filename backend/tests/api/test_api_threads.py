"""Routes in threads: one for each request, few for reads, and none of them in the way of a write."""

import asyncio
import threading

from fastapi import APIRouter, FastAPI
from fastapi.testclient import TestClient

from tunix_rt.base.http.routing import MAX_READS, ThreadedRoute, threaded


def test_a_threaded_route_keeps_its_description() -> None:
    router = APIRouter(route_class=ThreadedRoute)

    @router.get("/where")
    def where(offset: int = 0) -> dict[str, int]:
        """Tells the thread."""
        return {"thread": threading.get_ident() + offset}

    app = FastAPI()
    app.include_router(router)
    with TestClient(app) as client:
        assert client.get("/where", params={"offset": 1}).json()["thread"] != threading.get_ident() + 1
        described = client.get("/openapi.json").json()["paths"]["/where"]["get"]
        assert client.get("/where", params={"offset": "x"}).status_code == 422
    assert (described["description"], described["parameters"][0]["name"]) == ("Tells the thread.", "offset")


def test_reads_are_limited_and_do_not_block_writes() -> None:
    may_end = threading.Event()
    running = threading.Semaphore(0)

    def wait() -> None:
        running.release()
        assert may_end.wait(timeout=60)

    async def main() -> bool:
        reads = [asyncio.create_task(threaded(wait, is_read=True)()) for _ in range(MAX_READS + 4)]
        for _ in range(MAX_READS):
            assert await asyncio.to_thread(running.acquire, timeout=60)
        await threaded(lambda: None, is_read=False)()
        is_another_running = running.acquire(blocking=False)
        may_end.set()
        await asyncio.gather(*reads)
        return is_another_running

    assert not asyncio.run(main())
