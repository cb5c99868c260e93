"""The HTTP client of the judge: retries, rate limit, time and size limits."""

import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

import httpx2
from pydantic import BaseModel, Field, SecretStr, ValidationError

from tunix_rt.base.errors import JudgeError
from tunix_rt.evaluation.rubric.types import GradeFailureCode, JudgeUsage


@dataclass(frozen=True)
class Reply:
    """The text of a reply and its token usage."""

    text: str
    usage: JudgeUsage


class Chat(Protocol):
    """A chat completion endpoint; it is called from several threads."""

    def complete(self, body: dict[str, Any]) -> Reply:
        """Send one request; temporary failures are retried.

        Raises:
            RequestRefusedError: The endpoint rejects this kind of request.
            NoReplyError: There is no reply to this request; others may succeed.
            JudgeError: No request can succeed.
        """


class NoReplyError(Exception):
    """There is no usable reply to one request: a typed failure of one completion."""

    def __init__(self, code: GradeFailureCode, detail: str) -> None:
        super().__init__(detail)
        self.code: GradeFailureCode = code
        self.detail = detail


class RequestRefusedError(NoReplyError):
    """The endpoint rejects the request itself; `detail` quotes its message."""

    def __init__(self, detail: str) -> None:
        super().__init__("refused", detail)


FIRST_BACKOFF_S = 1.0
MAX_BACKOFF_S = 30.0
MAX_RETRY_AFTER_S = 300.0
"""A longer `Retry-After` is a failure."""


def backoff_s(num_failures: int, retry_after_s: float | None, first_s: float = FIRST_BACKOFF_S) -> float:
    """The wait after a failure: it doubles each time and is never shorter than `Retry-After`.

    Example:
        first failure -> 1.0, fourth -> 8.0; first with `Retry-After: 7` -> 7.0
    """
    doubled = min(first_s * 2.0 ** (num_failures - 1), MAX_BACKOFF_S)
    return max(doubled, retry_after_s or 0.0)


def parse_retry_after(header: str | None, now: datetime) -> float | None:
    """The wait in seconds of a `Retry-After` header, given in seconds or as a date; None without one.

    Example:
        "7" -> 7.0
    """
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(header) - now).total_seconds())
    except (ValueError, TypeError):
        return None


class RateLimit:
    """Spreads requests evenly over time, whichever thread sends them."""

    def __init__(self, requests_per_minute: float | None) -> None:
        self._gap_s = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._next_s = float("-inf")
        self._lock = threading.Lock()

    def reserve(self, now_s: float) -> float:
        """Reserve the next slot and return how long to wait for it, in seconds.

        Example:
            60 a minute, three requests at second 100 -> 0.0, 1.0, 2.0
        """
        with self._lock:
            start_s = max(now_s, self._next_s)
            self._next_s = start_s + self._gap_s
            return start_s - now_s


MAX_REPLY_BYTES = 1 << 20
_MAX_SHOWN_CHARS = 300
_NEXT_STEPS = {
    401: "Set TUNIX_RT_JUDGE_API_KEY to a key that this endpoint accepts.",
    403: "Use a key that may use this model, in TUNIX_RT_JUDGE_API_KEY.",
    404: "Check --model and --base-url; most base URLs end in /v1.",
}


@dataclass(frozen=True)
class RetryPolicy:
    """Timeouts, retries and the rate limit."""

    timeout_s: float = 120.0
    """For one complete reply, not between its bytes."""
    max_tries: int = 4
    first_backoff_s: float = FIRST_BACKOFF_S
    requests_per_minute: float | None = None


class _TemporaryError(Exception):
    """Worth a retry."""

    def __init__(self, code: GradeFailureCode, detail: str, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.code: GradeFailureCode = code
        self.retry_after_s = retry_after_s


class _UnreachableError(_TemporaryError):
    """There is no connection to the endpoint."""


@dataclass
class ChatEndpoint:
    """A judge behind HTTP. Threads may share it; `close` interrupts their waits."""

    base_url: str
    api_key: SecretStr | None = None
    policy: RetryPolicy = field(default_factory=RetryPolicy)

    def __post_init__(self) -> None:
        headers = (
            {} if self.api_key is None else {"Authorization": f"Bearer {self.api_key.get_secret_value()}"}
        )
        # Redirects are not followed: they would carry the key elsewhere.
        self._client = httpx2.Client(headers=headers, timeout=self.policy.timeout_s, follow_redirects=False)
        self._url = f"{self.base_url.rstrip('/')}/chat/completions"
        self._limit = RateLimit(self.policy.requests_per_minute)
        self._closed = threading.Event()

    def close(self) -> None:
        """Interrupt all waits and close the connections."""
        self._closed.set()
        self._client.close()

    def complete(self, body: dict[str, Any]) -> Reply:
        """Send one request; see `Chat`."""
        num_failures = 0
        while True:
            self._wait(self._limit.reserve(time.monotonic()))
            try:
                return self._complete_once(body)
            except _TemporaryError as error:
                num_failures += 1
                if num_failures >= self.policy.max_tries or (error.retry_after_s or 0) > MAX_RETRY_AFTER_S:
                    if isinstance(error, _UnreachableError):
                        raise JudgeError(
                            f"The judge at {self.base_url} cannot be reached: {error}.",
                            next_step="Start it or correct --base-url, then repeat the command: "
                            "grades are kept.",
                        ) from error
                    raise NoReplyError(error.code, f"{error}, in {num_failures} tries") from error
                self._wait(backoff_s(num_failures, error.retry_after_s, self.policy.first_backoff_s))

    def _wait(self, seconds: float) -> None:
        if self._closed.wait(seconds):
            raise NoReplyError("timeout", "stopped before the request was sent")

    def _complete_once(self, body: dict[str, Any]) -> Reply:
        deadline_s = time.monotonic() + self.policy.timeout_s
        try:
            with self._client.stream("POST", self._url, json=body) as response:
                raw = self._read(response, deadline_s)
        except httpx2.ConnectError as error:
            raise _UnreachableError("server-error", str(error)) from error
        except httpx2.TimeoutException as error:
            raise _TemporaryError("timeout", f"no reply within {self.policy.timeout_s:g} s") from error
        except httpx2.TransportError as error:
            raise _TemporaryError("server-error", f"the connection was lost ({error})") from error
        self._require_success(response, raw)
        return _parse_completion(raw)

    def _read(self, response: httpx2.Response, deadline_s: float) -> bytes:
        raw = b""
        for chunk in response.iter_bytes():
            raw += chunk
            if len(raw) > MAX_REPLY_BYTES:
                raise NoReplyError("too-large", f"the reply is larger than {MAX_REPLY_BYTES:,} bytes")
            if time.monotonic() > deadline_s:
                # A server that sends a byte now and then would never exceed a timeout between bytes.
                raise _TemporaryError("timeout", f"no complete reply within {self.policy.timeout_s:g} s")
        return raw

    def _require_success(self, response: httpx2.Response, raw: bytes) -> None:
        status = response.status_code
        message = raw.decode("utf-8", errors="replace")
        if self.api_key is not None:  # which endpoints like to repeat when they reject it
            message = message.replace(self.api_key.get_secret_value(), "(the key)")
        message = message[:_MAX_SHOWN_CHARS]
        retry_after_s = parse_retry_after(response.headers.get("Retry-After"), datetime.now(UTC))
        if status == 429:
            raise _TemporaryError("rate-limited", "too many requests (429)", retry_after_s)
        if status == 408 or status >= 500:
            raise _TemporaryError("server-error", f"the endpoint answered {status}", retry_after_s)
        if status in _NEXT_STEPS:
            raise JudgeError(
                f"The judge at {self.base_url} answered {status}: {message}", next_step=_NEXT_STEPS[status]
            )
        if not response.is_success:
            raise RequestRefusedError(f"the endpoint answered {status}: {message}")


class _Message(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Message


class _Usage(BaseModel):
    prompt_tokens: int
    completion_tokens: int


class _Completion(BaseModel):
    """The fields of a chat completion that are used."""

    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


def _parse_completion(raw: bytes) -> Reply:
    try:
        completion = _Completion.model_validate_json(raw)
    except ValidationError as error:
        raise NoReplyError("nonsense", "the endpoint did not send a chat completion") from error
    usage = JudgeUsage(num_requests=1, num_without_usage=1)
    if completion.usage is not None:
        usage = JudgeUsage(
            num_requests=1,
            num_input_tokens=completion.usage.prompt_tokens,
            num_output_tokens=completion.usage.completion_tokens,
        )
    return Reply(completion.choices[0].message.content or "", usage)
