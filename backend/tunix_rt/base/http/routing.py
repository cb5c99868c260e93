"""Route classes that work in threads and refuse duplicate keys; the home and paging as dependencies.

Those that only look something up are `async`: others run in a thread each, which costs more than they do.
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
    """The store that the app was made with."""
    home: Home = request.app.state.home
    return home


OpenHome = Annotated[Home, Depends(get_home)]

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


MAX_KEYS = 1_000
"""Keys in one object. Every unknown key is a mistake to report, and reporting millions takes gigabytes."""


class CheckedRoute(ThreadedRoute):
    """A route whose JSON bodies repeat no key and hold no object of absurd size."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The framework's handler, given a request that checks."""
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
            f"The key {repeated!r} occurs twice in one object, so it is not clear which value is meant.",
            next_step="Send every key once.",
        )
    return value


MAX_OFFSET = 2**31 - 1

Limit = Annotated[int, Query(ge=1, le=100)]
Offset = Annotated[int, Query(ge=0, le=MAX_OFFSET)]
Word = Annotated[StorableText | None, Query(max_length=MAX_FILTER_CHARS)]
