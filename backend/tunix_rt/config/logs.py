"""The log of a server or a worker: one line a happening on standard error, as text or as JSON.

Secrets are taken out of every line, and a line that a request caused names the request.
"""

import json
import logging
import os
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from tunix_rt.config.settings import Settings
from tunix_rt.core.redaction import redacted, secret_values

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""Of the request that is being answered."""


def configure_logs(settings: Settings) -> None:
    """Send the log of this process to standard error, in the format that the settings name."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if settings.log_format == "json" else TextLines())
    logging.basicConfig(handlers=[handler], level=settings.log_level.upper(), force=True)
    # No line shows them, and finding them out takes longer than writing it.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    for name in ("uvicorn", "httpx", "httpx2", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)


class _Redacting(logging.Formatter):
    def __init__(self) -> None:
        super().__init__()
        self._secrets = secret_values(os.environ)

    def _redacted(self, text: str) -> str:
        return redacted(text, self._secrets)


class JsonLines(_Redacting):
    """One JSON object a line; what a record carries in `fields` becomes keys of it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without secrets."""
        line: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (request := request_id.get()) is not None:
            line["request_id"] = request
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        # Each value for itself: what JSON escapes would not be recognised any more.
        for name, value in line.items():
            line[name] = self._redacted(value) if isinstance(value, str) else value
        return json.dumps(line, ensure_ascii=False, default=str)


class TextLines(_Redacting):
    """The same for people."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without secrets."""
        line = f"{_time(record)} {record.levelname.lower()} {record.name}: {record.getMessage()}"
        if (request := request_id.get()) is not None:
            line += f" [{request}]"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return self._redacted(line)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
