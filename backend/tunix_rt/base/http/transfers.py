"""Uploads, downloads, byte ranges and server-sent events in constant memory; stops on disconnect.

Headers and content come from the same open file: a file that grows or is replaced meanwhile is sent with the
size it had when it was opened.
"""

import asyncio
import mimetypes
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from email.utils import formatdate
from itertools import chain
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeVar
from urllib.parse import quote

from fastapi import Request, Response, UploadFile, status
from fastapi.responses import StreamingResponse

from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.base.http.errors import error_response

T = TypeVar("T")


async def cancel_on_disconnect(request: Request, work: Coroutine[Any, Any, T]) -> T | None:
    """The result of the work; None, with the work cancelled, if the client disconnects first."""
    working = asyncio.create_task(work)
    disconnect = asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait({working, disconnect}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for task in (working, disconnect):
            task.cancel()
        await asyncio.wait({working, disconnect})
        if not working.cancelled():
            working.exception()  # retrieved because asyncio would log it otherwise


async def _disconnected(request: Request) -> None:
    # The body has been read, so the only message left is the disconnect.
    while (await request.receive())["type"] != "http.disconnect":
        pass


_CHUNK_BYTES = 1 << 18
_ONE_RANGE = re.compile(r"\s*bytes\s*=\s*(\d{0,19})\s*-\s*(\d{0,19})\s*", re.ASCII | re.IGNORECASE)


def file_response(request: Request, file: BinaryIO, name: str) -> Response:
    """Answer a GET or HEAD with the file, with its requested range, or with 304.

    The caller closes the file after the response has been sent.
    """
    found = os.fstat(file.fileno())
    headers = {
        "Accept-Ranges": "bytes",
        "Content-Disposition": f"attachment; filename*=utf-8''{quote(name, safe='')}",
        "ETag": f'"{found.st_ino:x}-{found.st_mtime_ns:x}-{found.st_size:x}"',
        "Last-Modified": formatdate(found.st_mtime, usegmt=True),
        # Browsers must not guess another type.
        "X-Content-Type-Options": "nosniff",
    }
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=status.HTTP_304_NOT_MODIFIED, headers=headers)
    chosen = requested_range(request.headers, headers, found.st_size)
    if chosen is not None and not chosen:
        response = error_response(
            status.HTTP_416_RANGE_NOT_SATISFIABLE,
            f"The file has {found.st_size} bytes; none of them are in the requested range.",
            "Request an earlier range, or omit the header.",
            "range-not-satisfiable",
        )
        response.headers["Content-Range"] = f"bytes */{found.st_size}"
        return response
    if chosen is not None:
        headers["Content-Range"] = f"bytes {chosen.start}-{chosen.stop - 1}/{found.st_size}"
    sent = range(found.st_size) if chosen is None else chosen
    headers["Content-Length"] = str(len(sent))
    return StreamingResponse(
        iter(()) if request.method == "HEAD" else _chunks(file, sent),
        status_code=status.HTTP_200_OK if chosen is None else status.HTTP_206_PARTIAL_CONTENT,
        media_type=mimetypes.guess_type(name)[0] or "application/octet-stream",
        headers=headers,
    )


def requested_range(requested: Mapping[str, str], known: Mapping[str, str], num_bytes: int) -> range | None:
    """The byte range that a request selects from a file of `num_bytes`; None for the whole file.

    A missing, unreadable or multiple `Range`, and one for another version of the file, mean the whole file,
    as RFC 9110 specifies. A range beyond the end of the file is empty.

    Example:
        `bytes=2-` of 5 bytes -> range(2, 5); `bytes=-2` -> range(3, 5); `bytes=9-` -> range(9, 5)
    """
    match = _ONE_RANGE.fullmatch(requested.get("range", ""))
    is_other_version = requested.get("if-range", known["ETag"]) not in (known["ETag"], known["Last-Modified"])
    if match is None or is_other_version:
        return None
    first, last = match.groups()
    if not first:
        return range(max(0, num_bytes - int(last)), num_bytes) if last else None
    if last and int(last) < int(first):
        return None
    return range(int(first), min(int(last) + 1, num_bytes) if last else num_bytes)


def _chunks(file: BinaryIO, chosen: range) -> Iterator[bytes]:
    offset = chosen.start
    while offset < chosen.stop:
        chunk = os.pread(file.fileno(), min(_CHUNK_BYTES, chosen.stop - offset), offset)
        if not chunk:
            return  # truncated on disk: the client sees that bytes are missing
        offset += len(chunk)
        yield chunk


RECONNECT_MS = 1000
_HEADERS = {
    "Cache-Control": "no-store",
    # nginx and similar proxies would buffer messages.
    "X-Accel-Buffering": "no",
}


def sse_message(kind: str, data: str, message_id: str) -> bytes:
    """One message.

    Args:
        kind: Event name.
        data: JSON on one line.
        message_id: Sent back as `Last-Event-ID` by a client that reconnects.
    """
    return f"id: {message_id}\nevent: {kind}\ndata: {data}\n\n".encode()


def sse_response(messages: AsyncIterator[bytes]) -> StreamingResponse:
    """A streaming response of server-sent events."""
    return StreamingResponse(_with_preface(messages), media_type="text/event-stream", headers=_HEADERS)


async def _with_preface(messages: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    # Sent immediately, so that the client knows that it is connected.
    yield f"retry: {RECONNECT_MS}\n\n".encode()
    async for message in messages:
        yield message


_UPLOAD_CHUNK_BYTES = 1 << 16
_MAX_SUFFIX_CHARS = 32


@contextmanager
def saved_upload(upload: UploadFile) -> Iterator[Path]:
    """The upload as a temporary file on disk.

    Only the suffixes of the client's file name are used, to distinguish CSV from JSONL.
    """
    suffixes = [suffix for suffix in Path(upload.filename or "").suffixes if suffix[1:].isalnum()]
    with storage_errors("receiving the upload"), tempfile.TemporaryDirectory(prefix="tunix-rt-") as folder:
        path = Path(folder) / f"upload{''.join(suffixes)[-_MAX_SUFFIX_CHARS:]}"
        with path.open("wb") as target:
            shutil.copyfileobj(upload.file, target, _UPLOAD_CHUNK_BYTES)
        yield path


def spooled(lines: Iterable[str]) -> IO[bytes]:
    """The lines as an open file on disk, so that errors occur before anything is sent."""
    with storage_errors("preparing the download"):
        file = tempfile.TemporaryFile(prefix="tunix-rt-")
        try:
            file.writelines(f"{line}\n".encode() for line in lines)
            file.seek(0)
        except BaseException:
            file.close()
            raise
        return file


def download(file: IO[bytes], name: str, media_type: str) -> StreamingResponse:
    """A response that streams `file` and closes it."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(chunks(file), media_type=media_type, headers=headers)


def chunked_response(parts: Iterator[bytes], media_type: str) -> Response:
    """A response of one or more chunks: complete if there is only one, otherwise streamed."""
    first, second = next(parts), next(parts, None)
    if second is None:
        return Response(first, media_type=media_type)
    return StreamingResponse(chain((first, second), parts), media_type=media_type)


def text_answer(media_type: str) -> dict[int | str, dict[str, Any]]:
    """OpenAPI's description of a 200 that is text.

    Use with `response_class=Response`: a text response class would document the errors as text too.
    """
    return {200: {"content": {media_type: {"schema": {"type": "string"}}}}}


def chunks(file: IO[bytes]) -> Iterator[bytes]:
    """The chunks of an open file, which is closed at the end."""
    with file:
        while chunk := file.read(_UPLOAD_CHUNK_BYTES):
            yield chunk
