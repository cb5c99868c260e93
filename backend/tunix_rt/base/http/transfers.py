"""Uploads, downloads, byte ranges and server-sent events in constant memory; stops on disconnect.

Everything that is said about the file comes from the file that is sent: one that grows, or is replaced under
its name meanwhile, is sent as long as it was when it was opened.
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


_CHUNK_BYTES = 1 << 18
_ONE_RANGE = re.compile(r"\s*bytes\s*=\s*(\d{0,19})\s*-\s*(\d{0,19})\s*", re.ASCII | re.IGNORECASE)


def file_response(request: Request, file: BinaryIO, name: str) -> Response:
    """Answer a GET or HEAD with the file, with the part that `Range` asks for, or that nothing changed.

    The file stays open: whoever opened it closes it when the answer has been sent.
    """
    found = os.fstat(file.fileno())
    headers = _headers(found, name)
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=status.HTTP_304_NOT_MODIFIED, headers=headers)
    chosen = asked_range(request.headers, headers, found.st_size)
    if chosen is not None and not chosen:
        return _not_satisfiable(found.st_size)
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


def asked_range(asked: Mapping[str, str], known: Mapping[str, str], num_bytes: int) -> range | None:
    """The bytes that a request wants of a file of `num_bytes`; None when it wants all of it.

    No `Range`, one that cannot be read, several at once, and one for another version of the file all mean the
    whole file, as RFC 9110 has it. A range that the file has nothing of is empty.

    Example:
        `bytes=2-` of 5 bytes -> range(2, 5); `bytes=-2` -> range(3, 5); `bytes=9-` -> range(9, 5)
    """
    match = _ONE_RANGE.fullmatch(asked.get("range", ""))
    is_other_version = asked.get("if-range", known["ETag"]) not in (known["ETag"], known["Last-Modified"])
    if match is None or is_other_version:
        return None
    first, last = match.groups()
    if not first:
        return range(max(0, num_bytes - int(last)), num_bytes) if last else None
    if last and int(last) < int(first):
        return None
    return range(int(first), min(int(last) + 1, num_bytes) if last else num_bytes)


def _headers(found: os.stat_result, name: str) -> dict[str, str]:
    return {
        "Accept-Ranges": "bytes",
        "Content-Disposition": f"attachment; filename*=utf-8''{quote(name, safe='')}",
        "ETag": f'"{found.st_ino:x}-{found.st_mtime_ns:x}-{found.st_size:x}"',
        "Last-Modified": formatdate(found.st_mtime, usegmt=True),
        # A browser shows what it is told it gets, and guesses nothing.
        "X-Content-Type-Options": "nosniff",
    }


def _not_satisfiable(num_bytes: int) -> Response:
    response = error_response(
        status.HTTP_416_RANGE_NOT_SATISFIABLE,
        f"The file has {num_bytes} bytes; none of them are in the range that was asked for.",
        "Ask for an earlier range, or leave the header out.",
        "range-not-satisfiable",
    )
    response.headers["Content-Range"] = f"bytes */{num_bytes}"
    return response


def _chunks(file: BinaryIO, chosen: range) -> Iterator[bytes]:
    place = chosen.start
    while place < chosen.stop:
        chunk = os.pread(file.fileno(), min(_CHUNK_BYTES, chosen.stop - place), place)
        if not chunk:
            return  # cut off on the disk: the client sees that bytes are missing
        place += len(chunk)
        yield chunk


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


_UPLOAD_CHUNK_BYTES = 1 << 16
_MAX_ENDING_CHARS = 32


@contextmanager
def saved_upload(upload: UploadFile) -> Iterator[Path]:
    """The upload as a file on disk, gone afterwards.

    Of the client's name only the endings are used: they tell CSV from JSONL.
    """
    endings = [ending for ending in Path(upload.filename or "").suffixes if ending[1:].isalnum()]
    with storage_errors("receiving the upload"), tempfile.TemporaryDirectory(prefix="tunix-rt-") as folder:
        path = Path(folder) / f"upload{''.join(endings)[-_MAX_ENDING_CHARS:]}"
        with path.open("wb") as target:
            shutil.copyfileobj(upload.file, target, _UPLOAD_CHUNK_BYTES)
        yield path


def spooled(lines: Iterable[str]) -> IO[bytes]:
    """The lines as an open file on disk: what can fail has failed before anything is sent."""
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
    """An answer that streams `file` and closes it."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(chunks(file), media_type=media_type, headers=headers)


def chunked_response(pieces: Iterator[bytes], media_type: str) -> Response:
    """An answer of at least one piece: sent at once when there are no more, else as they come."""
    first, second = next(pieces), next(pieces, None)
    if second is None:
        return Response(first, media_type=media_type)
    return StreamingResponse(chain((first, second), pieces), media_type=media_type)


def text_answer(media_type: str) -> dict[int | str, dict[str, Any]]:
    """OpenAPI's description of a 200 that is text.

    Goes with `response_class=Response`: a text response class would document the errors as text too.
    """
    return {200: {"content": {media_type: {"schema": {"type": "string"}}}}}


def chunks(file: IO[bytes]) -> Iterator[bytes]:
    """The pieces of an open file, which is closed at the end."""
    with file:
        while chunk := file.read(_UPLOAD_CHUNK_BYTES):
            yield chunk
