"""JSON bodies, read with more care than the web framework takes."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response

from tunix_rt.api.threads import ThreadedRoute
from tunix_rt.core.errors import InvalidInputError

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
