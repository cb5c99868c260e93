"""Routes run in threads: concurrent reads are limited and do not block writes."""

import asyncio
import threading

from fastapi import APIRouter, FastAPI
from fastapi.testclient import TestClient

from tunix_rt.base.http.routing import MAX_READS, ThreadedRoute, threaded


def test_threaded_route_keeps_its_schema() -> None:
    router = APIRouter(route_class=ThreadedRoute)

    @router.get("/where")
    def where(offset: int = 0) -> dict[str, int]:
        """Return the thread id."""
        return {"thread": threading.get_ident() + offset}

    app = FastAPI()
    app.include_router(router)
    with TestClient(app) as client:
        assert client.get("/where", params={"offset": 1}).json()["thread"] != threading.get_ident() + 1
        described = client.get("/openapi.json").json()["paths"]["/where"]["get"]
        assert client.get("/where", params={"offset": "x"}).status_code == 422
    assert (described["description"], described["parameters"][0]["name"]) == (
        "Return the thread id.",
        "offset",
    )


def test_limited_reads_never_block_writes() -> None:
    release = threading.Event()
    running = threading.Semaphore(0)

    def wait() -> None:
        running.release()
        assert release.wait(timeout=60)

    async def main() -> bool:
        reads = [asyncio.create_task(threaded(wait, is_read=True)()) for _ in range(MAX_READS + 4)]
        for _ in range(MAX_READS):
            assert await asyncio.to_thread(running.acquire, timeout=60)
        await threaded(lambda: None, is_read=False)()
        has_extra_read = running.acquire(blocking=False)
        release.set()
        await asyncio.gather(*reads)
        return has_extra_read

    assert not asyncio.run(main())
