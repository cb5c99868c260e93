"""Live views of runs: what they print, and everything that happens to them, as server-sent events."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from tunix_rt.api.live_runs import Follower, LiveRuns
from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.transfers import sse_response, text_answer
from tunix_rt.engines.training.types import RUN_ID_PATTERN
from tunix_rt.services.runs.cursors import Cursor, parse_cursor
from tunix_rt.services.runs.live import RunReader

router = APIRouter(prefix="/api/tunix/runs", tags=["live runs"], responses=error_responses(404))

_EVENT_STREAM = text_answer("text/event-stream")
_MAX_SEQ = 10**15 - 1


async def _live(request: Request) -> LiveRuns:
    live: LiveRuns = request.app.state.live
    return live


Live = Annotated[LiveRuns, Depends(_live)]


async def _follower(
    run_id: Annotated[str, Path(pattern=RUN_ID_PATTERN)], live: Live
) -> AsyncIterator[Follower]:
    # Left when the answer has been sent or the viewer is gone, not when the route returns.
    async with live.watching(run_id) as follower:
        yield follower


Following = Annotated[Follower, Depends(_follower)]
Seq = Annotated[int, Query(ge=0, le=_MAX_SEQ, description="`seq` of the last chunk that you have")]


@router.get("/{run_id}/logs", responses=_EVENT_STREAM, response_class=Response)
async def stream_log(
    live: Live,
    follower: Following,
    since_seq: Seq = 0,
    last_event_id: Annotated[int | None, Header(ge=0, le=_MAX_SEQ)] = None,
) -> StreamingResponse:
    """What a run prints, while it prints it: `log`, `heartbeat`, at last `status`. 404 if unknown.

    The id of a message is its `seq`; whoever comes back with it gets exactly what was missed.
    """
    seq = since_seq if last_event_id is None else last_event_id
    reader = RunReader(follower.watch, Cursor(log=seq), sources=["log"])
    return sse_response(live.messages(follower, reader, id_of=lambda message: str(message.cursor.log)))


@router.get("/{run_id}/stream", responses=_EVENT_STREAM, response_class=Response)
async def stream_run(
    live: Live,
    follower: Following,
    cursor: Annotated[str, Query(max_length=200, description="`id` of the last message that you have")] = "",
    last_event_id: Annotated[str, Header(max_length=200)] = "",
) -> StreamingResponse:
    """Everything of a run: `service`, `event`, `metrics`, `rewind`, `log`, `heartbeat`, at last `status`.

    Whoever comes back with the id of the last message gets exactly what was missed. 404 if unknown.
    """
    place = last_event_id or cursor
    reader = RunReader(follower.watch, parse_cursor(place) if place else None)
    return sse_response(live.messages(follower, reader, id_of=lambda message: str(message.cursor)))
