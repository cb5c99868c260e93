"""Helpers for tests of the HTTP surface."""

from typing import Any

from httpx2 import Response

from support.builders import make_trace

ERROR_KEYS = {"detail", "next_step", "code"}


def body(prompt: str = "What is 2 + 3?", *, steps: list[str] | None = None, **meta: Any) -> dict[str, Any]:
    """Return the JSON of a correct trace."""
    return make_trace(prompt, steps, **meta).model_dump(mode="json")


def error_of(response: Response, status: int) -> dict[str, str]:
    """Return the error of a response after checking its status and shape."""
    assert response.status_code == status, response.text[:500]
    assert response.headers["content-type"] == "application/json"
    error: dict[str, str] = response.json()
    assert error.keys() == ERROR_KEYS
    assert all(isinstance(text, str) and text for text in error.values()), error
    return error
