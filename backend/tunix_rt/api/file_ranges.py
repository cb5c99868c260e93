"""Downloads of open files, whole or a range of them, in constant memory.

Everything that is said about the file comes from the file that is sent: one that grows, or is replaced under
its name meanwhile, is sent as long as it was when it was opened.
"""

import mimetypes
import os
import re
from collections.abc import Iterator, Mapping
from email.utils import formatdate
from typing import BinaryIO
from urllib.parse import quote

from fastapi import Request, Response, status
from fastapi.responses import StreamingResponse

from tunix_rt.api.errors import error_response

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
