"""Secrets are taken out of whatever is written down: logs, events, failures, evidence."""

import os
import re
from collections.abc import Mapping, Sequence

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
