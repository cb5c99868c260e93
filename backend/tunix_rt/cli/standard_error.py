"""Standard error that outlives its reader, for consoles."""

import os
import sys
from typing import TextIO


class StandardError:
    """Standard error, as long as anybody takes it.

    What is said there is for people who watch. A log whose disk is full, or a reader that has left, must not
    end a training.
    """

    def write(self, text: str) -> int:
        """Say it, if possible."""
        stream = self._stream()
        try:
            return stream.write(text)
        except OSError:
            write_no_more(stream)
            return len(text)

    def flush(self) -> None:
        """Send off what was said, if possible."""
        stream = self._stream()
        try:
            stream.flush()
        except OSError:
            write_no_more(stream)

    def isatty(self) -> bool:
        """Whether a person looks."""
        return self._stream().isatty()

    def fileno(self) -> int:
        """Where it goes."""
        return self._stream().fileno()

    @property
    def encoding(self) -> str:
        """How characters become bytes."""
        return self._stream().encoding

    @staticmethod
    def _stream() -> TextIO:
        # A moving bar of rich puts itself there, and prints above itself what others write.
        stream: TextIO = getattr(sys.stderr, "rich_proxied_file", sys.stderr)
        return stream


def write_no_more(stream: TextIO) -> None:
    """Let a stream that fails lead nowhere. Python would try again, and fail, when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
