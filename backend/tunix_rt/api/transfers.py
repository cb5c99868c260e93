"""Files that come and go over HTTP, never whole in memory."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any

from fastapi import Response, UploadFile
from fastapi.responses import StreamingResponse

from tunix_rt.files.atomic import storage_errors

_CHUNK_BYTES = 1 << 16
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
            shutil.copyfileobj(upload.file, target, _CHUNK_BYTES)
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


def pieces_response(pieces: Iterator[bytes], media_type: str) -> Response:
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
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk
