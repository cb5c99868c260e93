"""Clients that leave before their answer is there: what they asked for is not worked on any more."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import Request

T = TypeVar("T")


async def unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T | None:
    """The result of the work; None, and the work is cancelled, when the client leaves first."""
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_left(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.wait({working, leaving})
        if not working.cancelled():
            working.exception()  # whoever left does not want to know


async def _left(request: Request) -> None:
    # The body has been read: what comes now can only be the end of the connection.
    while (await request.receive())["type"] != "http.disconnect":
        pass
