"""Log lines as text or JSON, and secrets taken out of them.

Secrets are taken out of every line, and a line that a request caused names the request.
"""

import json
import logging
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # logs are imported before the settings are loaded, and pydantic takes 0.1 s
    from tunix_rt.base.settings import Settings

HIDDEN = "***"
_MIN_SECRET_CHARS = 6
"""A shorter value would be found everywhere: `1`, `true`."""

_SECRET_NAME = re.compile(r"(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.I)
_URL_NAME = re.compile(r"(?:^|_)UR[IL]$", re.I)
_URL_PASSWORD = re.compile(r"(?P<before>\b[a-z][a-z0-9+.-]*://[^\s:/@]*:)(?P<password>[^\s/@]+)(?=@)", re.I)
_BEARER = re.compile(r"(?P<before>\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}", re.I)
_WELL_KNOWN = re.compile(r"\b(?:trt_[0-9a-f]{8}_[\w-]{16,}|hf_[A-Za-z0-9]{16,}|sk-[\w-]{16,})")


def redacted(text: str, secrets: Sequence[str] | None = None) -> str:
    """The text without what opens doors: passwords, tokens, keys, by their shape or by their value.

    Args:
        text: What is about to be written down.
        secrets: Values to look for. Default: those of this process' environment.

    Example:
        "401 for Bearer 0123456789abcdef" -> "401 for Bearer ***"
    """
    for secret in secret_values(os.environ) if secrets is None else secrets:
        text = text.replace(secret, HIDDEN)
    if "://" in text:  # most texts have none, and the pattern looks for one from every letter on
        text = _URL_PASSWORD.sub(rf"\g<before>{HIDDEN}", text)
    text = _BEARER.sub(rf"\g<before>{HIDDEN}", text)
    return _WELL_KNOWN.sub(HIDDEN, text)


def secret_values(environ: Mapping[str, str]) -> list[str]:
    """What the environment keeps secret, longest first: one may be part of another.

    Example:
        {"HF_TOKEN": "hf_abcdef", "HOME": "/root"} -> ["hf_abcdef"]
    """
    found = {value for name, value in environ.items() if _SECRET_NAME.search(name)}
    for name, value in environ.items():
        if _URL_NAME.search(name) and (match := _URL_PASSWORD.search(value)):
            found.add(match["password"])
    return sorted((value for value in found if len(value) >= _MIN_SECRET_CHARS), key=len, reverse=True)


request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""Of the request that is being answered."""


def configure_logs(settings: "Settings") -> None:
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
