"""Route classes that work in threads and refuse duplicate keys; the home and paging as dependencies.

Dependencies that only look something up are `async`: a thread would cost more than they do.
"""

import json
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import Annotated, Any, ParamSpec, TypeVar

import anyio
from fastapi import Depends, Query, Request, Response
from fastapi.routing import APIRoute

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.home import Home
from tunix_rt.base.records import MAX_FILTER_CHARS, StorableText


async def get_home(request: Request) -> Home:
    """The home of the app."""
    home: Home = request.app.state.home
    return home


OpenHome = Annotated[Home, Depends(get_home)]

MAX_READS = 8
"""Concurrent reads. More threads would lower the throughput, because they compete for the interpreter."""

_P = ParamSpec("_P")
_R = TypeVar("_R")
_read_limiter = anyio.CapacityLimiter(MAX_READS)


def threaded(function: Callable[_P, _R], *, is_read: bool) -> Callable[_P, Awaitable[_R]]:
    """The same function, run in a thread.

    The framework would do so too, but would validate the result in a second thread.
    """

    @wraps(function)
    async def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        work = partial(function, *args, **kwargs)
        return await anyio.to_thread.run_sync(work, limiter=_read_limiter if is_read else None)

    return run


class ThreadedRoute(APIRoute):
    """A route that runs its function in a thread unless it is `async`.

    Reads share a few threads, and long writes do not block them.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if not iscoroutinefunction(endpoint):
            is_read = options.get("methods") in (None, ["GET"], ["HEAD"])
            endpoint = threaded(endpoint, is_read=is_read)
        super().__init__(path, endpoint, **options)


MAX_KEYS = 1_000
"""Keys in one object. Every unknown key is reported, and reporting millions would take gigabytes."""


class CheckedRoute(ThreadedRoute):
    """A route that refuses JSON bodies with repeated keys or too many keys in one object."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The framework's handler with a checking request."""
        handle = super().get_route_handler()

        async def handle_checked(request: Request) -> Response:
            return await handle(_CheckedRequest(request.scope, request.receive))

        return handle_checked


class _CheckedRequest(Request):
    async def json(self) -> Any:
        return json.loads(await self.body(), object_pairs_hook=_checked_object)


def _checked_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MAX_KEYS:
        raise InvalidInputError(
            f"An object in the body has {len(pairs):,} keys.", next_step=f"Send at most {MAX_KEYS:,} keys."
        )
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [key for key, _ in pairs]
        repeated = next(key for key in names if names.count(key) > 1)
        raise InvalidInputError(
            f"The key {repeated!r} occurs twice in one object, so it is unclear which value is meant.",
            next_step="Send every key once.",
        )
    return value


MAX_OFFSET = 2**31 - 1

Limit = Annotated[int, Query(ge=1, le=100)]
Offset = Annotated[int, Query(ge=0, le=MAX_OFFSET)]
Word = Annotated[StorableText | None, Query(max_length=MAX_FILTER_CHARS)]
