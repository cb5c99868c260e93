"""Log lines as text or JSON, with secrets redacted.

Every line is redacted, and lines logged during a request carry its id.
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
"""Shorter values (`1`, `true`) occur in ordinary text."""

_SECRET_NAME = re.compile(r"(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.I)
_URL_NAME = re.compile(r"(?:^|_)UR[IL]$", re.I)
_URL_PASSWORD = re.compile(r"(?P<before>\b[a-z][a-z0-9+.-]*://[^\s:/@]*:)(?P<password>[^\s/@]+)(?=@)", re.I)
_BEARER = re.compile(r"(?P<before>\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}", re.I)
_WELL_KNOWN = re.compile(r"\b(?:trt_[0-9a-f]{8}_[\w-]{16,}|hf_[A-Za-z0-9]{16,}|sk-[\w-]{16,})")


def redacted(text: str, secrets: Sequence[str] | None = None) -> str:
    """Replace passwords, tokens and keys, recognised by their form or by their value.

    Args:
        text: Text to be written.
        secrets: Values to replace. Default: those in this process's environment.

    Example:
        "401 for Bearer 0123456789abcdef" -> "401 for Bearer ***"
    """
    for secret in secret_values(os.environ) if secrets is None else secrets:
        text = text.replace(secret, HIDDEN)
    if "://" in text:  # the pattern is slow, and most texts have no URL
        text = _URL_PASSWORD.sub(rf"\g<before>{HIDDEN}", text)
    text = _BEARER.sub(rf"\g<before>{HIDDEN}", text)
    return _WELL_KNOWN.sub(HIDDEN, text)


def secret_values(environ: Mapping[str, str]) -> list[str]:
    """Values of secret environment variables, longest first, since one may contain another.

    Example:
        {"HF_TOKEN": "hf_abcdef", "HOME": "/root"} -> ["hf_abcdef"]
    """
    found = {value for name, value in environ.items() if _SECRET_NAME.search(name)}
    for name, value in environ.items():
        if _URL_NAME.search(name) and (match := _URL_PASSWORD.search(value)):
            found.add(match["password"])
    return sorted((value for value in found if len(value) >= _MIN_SECRET_CHARS), key=len, reverse=True)


CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, characters that reorder a line or end it, and lone surrogates."""


def visible(text: str) -> str:
    r"""The text in one line, with everything that could control a terminal or forge a line as an escape.

    Example:
        "a", a newline, "b" -> "a\u000ab" with a real backslash
    """
    return CONTROLS.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""Id of the current request."""


def configure_logs(settings: "Settings") -> None:
    """Log to standard error in the format of the settings."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if settings.log_format == "json" else TextLines())
    logging.basicConfig(handlers=[handler], level=settings.log_level.upper(), force=True)
    # Our formats do not show them, and collecting them takes longer than writing the line.
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
    """One JSON object per line; `fields` of a record become keys."""

    def format(self, record: logging.LogRecord) -> str:
        """The redacted line."""
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
        # Before encoding: secrets are not recognised once JSON has escaped them.
        for name, value in line.items():
            line[name] = self._redacted(value) if isinstance(value, str) else value
        # JSON escapes only the first 32; these escapes are JSON too.
        return visible(json.dumps(line, ensure_ascii=False, default=str))


class TextLines(_Redacting):
    """One readable line per record."""

    def format(self, record: logging.LogRecord) -> str:
        """The redacted line."""
        message = visible(record.getMessage())
        line = f"{_time(record)} {record.levelname.lower()} {record.name}: {message}"
        if (request := request_id.get()) is not None:
            line += f" [{request}]"
        if record.exc_info:
            # Indented: no line of an exception's text looks like a record.
            trace = self.formatException(record.exc_info).splitlines()
            line += "".join(f"\n  {visible(part)}" for part in trace)
        return self._redacted(line)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
