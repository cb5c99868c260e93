import gc
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tunix_rt.engines.jax.training.checkpoints import ignore_cancelled_reads


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Names of the errors that still reach `sys.unraisablehook`."""
    names: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: names.append(unraisable.exc_type.__name__))
    ignore_cancelled_reads()
    return names


async def _read_array_index_and_device_put(reason: type[Exception]) -> None:
    try:
        await _suspend()
    except GeneratorExit as exit_:
        raise reason("abandoned") from exit_


async def unrelated_read() -> None:
    try:
        await _suspend()
    except GeneratorExit as exit_:
        raise ValueError("an unrelated bug") from exit_


class _Suspend:
    def __await__(self) -> Any:
        yield


async def _suspend() -> None:
    await _Suspend()


def abandon(coroutine: Any) -> None:
    coroutine.send(None)
    del coroutine
    gc.collect()


def test_only_abandoned_reads_are_dropped(reported: list[Any]) -> None:
    abandon(_read_array_index_and_device_put(OSError))
    assert reported == []
    abandon(unrelated_read())
    assert reported == ["ValueError"]


def test_closed_loop_errors_are_dropped(reported: list[Any]) -> None:
    for text in ("Event loop is closed", "Event loop is broken"):
        error = RuntimeError(text)
        unraisable = SimpleNamespace(exc_type=type(error), exc_value=error, object=None)
        sys.unraisablehook(unraisable)  # type: ignore[arg-type]
    assert reported == ["RuntimeError"]


def test_hook_is_installed_once(reported: list[Any]) -> None:
    hook = sys.unraisablehook
    ignore_cancelled_reads()
    assert sys.unraisablehook is hook
