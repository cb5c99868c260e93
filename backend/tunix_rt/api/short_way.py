"""Reads on a short way: what the web framework finds out for every request is found out once.

Routes are declared, described and checked as ever. One that takes nothing but a path and a query, and gives
what a type describes, is answered here; whatever is unusual, such as a value that does not fit, goes the
framework's long way, which says what is wrong. The short one takes less than half of its time.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, get_args, get_origin

from fastapi.datastructures import DefaultPlaceholder
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from starlette.convertors import PathConvertor, StringConvertor
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from tunix_rt.api.errors import response_to
from tunix_rt.api.threads import ThreadedRoute, threaded
from tunix_rt.core.errors import TunixRTError

_TEXT = (StringConvertor, PathConvertor)


class ShortWay:
    """Answers the reads that it can, in the order of the routes, and passes on the rest."""

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute]) -> None:
        self._app = app
        gets = [route for route in routes if isinstance(route, APIRoute) and "GET" in (route.methods or ())]
        self._reads = [(route.path_regex, Read(route) if is_plain(route) else None) for route in gets]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass on."""
        answer = await self._answer(scope) if scope["type"] == "http" else None
        await (answer or self._app)(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response | None:
        if scope["method"] != "GET" or scope["root_path"]:
            return None
        for pattern, read in self._reads:
            if match := pattern.match(scope["path"]):
                return await read.answer(scope, match.groupdict()) if read is not None else None
        return None


class Read:
    """A route that reads."""

    def __init__(self, route: APIRoute) -> None:
        assert route.response_field is not None
        self._route = route
        self._call = _Call(route.dependant)
        self._serialize = partial(
            route.response_field.serialize_json,
            include=route.response_model_include,
            exclude=route.response_model_exclude,
            by_alias=route.response_model_by_alias,
            exclude_unset=route.response_model_exclude_unset,
            exclude_defaults=route.response_model_exclude_defaults,
            exclude_none=route.response_model_exclude_none,
        )
        self._in_thread = threaded(self._read, is_read=True)
        self._function: Callable[..., Any] = inspect.unwrap(route.endpoint)

    async def answer(self, scope: Scope, path: Mapping[str, str]) -> Response | None:
        """The answer; None when a value does not fit."""
        try:
            values = await self._call.arguments(Request(scope), path, QueryParams(scope["query_string"]))
        except _DoesNotFit:
            return None
        scope["route"] = self._route
        try:
            return await self._in_thread(values)
        except TunixRTError as error:
            return response_to(error)

    def _read(self, values: dict[str, Any]) -> Response:
        found = self._function(**values)
        if isinstance(found, Response):
            return found
        return Response(self._serialize(found), media_type="application/json")


class _DoesNotFit(Exception):
    """A value is missing or not what it should be."""


class _Call:
    """A function with what it takes: values of the path and the query, and what other functions give."""

    def __init__(self, dependant: Dependant) -> None:
        assert dependant.call is not None
        self.function = dependant.call
        self._of_request = dependant.request_param_name
        self._path = [(field.name, field.alias, field.validate) for field in dependant.path_params]
        self._query = {field.alias: (field.name, field.validate) for field in dependant.query_params}
        self._lists = {field.alias for field in dependant.query_params if _is_list(field.field_info)}
        required = (field for field in dependant.query_params if field.field_info.is_required())
        self._required = {field.alias for field in required}
        self._others = [(other.name or "", _Call(other)) for other in dependant.dependencies]

    async def arguments(
        self, request: Request, path: Mapping[str, str], query: QueryParams
    ) -> dict[str, Any]:
        """What the function is called with; what is not given has the default that the function names."""
        values = {name: _checked(check, path[alias]) for name, alias, check in self._path}
        for alias in query:
            if alias in self._query:
                name, check = self._query[alias]
                raw = query.getlist(alias) if alias in self._lists else query[alias]
                values[name] = _checked(check, raw)
        if not self._required <= query.keys():
            raise _DoesNotFit
        for name, other in self._others:
            values[name] = await other.function(**await other.arguments(request, path, query))
        if self._of_request is not None:
            values[self._of_request] = request
        return values


def _checked(check: Callable[[Any], tuple[Any, Any]], raw: Any) -> Any:
    value, problems = check(raw)
    if problems:
        raise _DoesNotFit
    return value


def is_plain(route: APIRoute) -> bool:
    """Whether a route reads in a thread, takes only path and query, and gives JSON of a type."""
    return (
        isinstance(route, ThreadedRoute)
        and inspect.unwrap(route.endpoint) is not route.endpoint
        and route.response_field is not None
        and route.status_code in (None, 200)
        and isinstance(route.response_class, DefaultPlaceholder)
        and all(isinstance(kind, _TEXT) for kind in route.param_convertors.values())
        and _takes_little(route.dependant)
    )


def _takes_little(dependant: Dependant) -> bool:
    rest = (
        dependant.header_params,
        dependant.cookie_params,
        dependant.body_params,
        dependant.websocket_param_name,
        dependant.http_connection_param_name,
        dependant.response_param_name,
        dependant.background_tasks_param_name,
        dependant.security_scopes_param_name,
    )
    if any(rest) or any(_is_model(field.field_info) for field in dependant.query_params):
        return False
    others = dependant.dependencies
    return all(inspect.iscoroutinefunction(other.call) and _takes_little(other) for other in others)


def _is_list(field: FieldInfo) -> bool:
    return any(get_origin(kind) is list for kind in (field.annotation, *get_args(field.annotation)))


def _is_model(field: FieldInfo) -> bool:
    return inspect.isclass(field.annotation) and issubclass(field.annotation, BaseModel)
