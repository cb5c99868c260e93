"""Routes that wait for a database or a disk: in a thread, in no more than one, and few of them at a time."""

from collections.abc import Awaitable, Callable
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import Any, ParamSpec, TypeVar

import anyio
from fastapi.routing import APIRoute

MAX_READS = 8
"""At a time. More threads answer fewer requests: they wait for each other's turn at the interpreter."""

_P = ParamSpec("_P")
_R = TypeVar("_R")
_read_limiter = anyio.CapacityLimiter(MAX_READS)


def threaded(function: Callable[_P, _R], *, is_read: bool) -> Callable[_P, Awaitable[_R]]:
    """The same function, run in a thread.

    The framework would do so too, and would then check what it returned in another one.
    """

    @wraps(function)
    async def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        work = partial(function, *args, **kwargs)
        return await anyio.to_thread.run_sync(work, limiter=_read_limiter if is_read else None)

    return run


class ThreadedRoute(APIRoute):
    """A route whose function, unless it is `async`, runs in a thread. Reads share a few of them.

    Writes, which may take long, do not keep reads waiting.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if not iscoroutinefunction(endpoint):
            is_read = options.get("methods") in (None, ["GET"], ["HEAD"])
            endpoint = threaded(endpoint, is_read=is_read)
        super().__init__(path, endpoint, **options)
