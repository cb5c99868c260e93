"""Server-sent events: text that a browser's EventSource, or any program, reads message by message."""

from collections.abc import AsyncIterator

from fastapi.responses import StreamingResponse

RECONNECT_MS = 1000
_HEADERS = {
    "Cache-Control": "no-store",
    # Proxies of the nginx kind would hold messages back until a buffer is full.
    "X-Accel-Buffering": "no",
}


def sse_message(kind: str, data: str, message_id: str) -> bytes:
    """One message.

    Args:
        kind: what the client listens for.
        data: JSON on one line.
        message_id: what a client that reconnects sends as `Last-Event-ID`.
    """
    return f"id: {message_id}\nevent: {kind}\ndata: {data}\n\n".encode()


def sse_response(messages: AsyncIterator[bytes]) -> StreamingResponse:
    """An answer that sends the messages as they come."""
    return StreamingResponse(_with_preface(messages), media_type="text/event-stream", headers=_HEADERS)


async def _with_preface(messages: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    # At once, so that a client knows that it is connected before anything has happened.
    yield f"retry: {RECONNECT_MS}\n\n".encode()
    async for message in messages:
        yield message
