"""Compiles a step in a process of its own: the compiler's environment, memory and crashes stay there."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from tunix_rt.base.errors import InvalidInputError, TunixRTError
from tunix_rt.core.targets import Target
from tunix_rt.engines.planning.described_devices import assembler_directory, compiler_environment
from tunix_rt.engines.planning.protocol import REFUSED, CompiledStep, CompileRequest, Refusal

AOT_MODULE = "tunix_rt.engines.jax.aot"
_TICK_S = 0.2
_SHOWN_CHARS = 2_000

OnTick = Callable[[float], None]
"""Told how many seconds the compiler has been at work."""


def compile_in_child(request: CompileRequest, target: Target, on_tick: OnTick) -> CompiledStep:
    """Run the compiler to its end, or to Ctrl-C, which ends it too.

    Raises:
        InvalidInputError: The recipe cannot run on this target, whatever its memory.
        TunixRTError: It crashed, or failed for another reason than memory.
    """
    with tempfile.TemporaryDirectory(prefix="tunix-rt-plan-") as directory:
        answer, log = Path(directory) / "answer.json", Path(directory) / "log.txt"
        code = _run(request, _environment(target), answer, log, on_tick)
        if code == 0 and answer.is_file():
            return _read_answer(answer)
        if code == REFUSED and answer.is_file():
            refusal = Refusal.model_validate_json(answer.read_bytes())
            raise InvalidInputError(refusal.detail, next_step=refusal.next_step)
        raise TunixRTError(
            f"The compiler ended with code {code}: {_last_lines(log)}",
            next_step="Use --fast for the estimate alone, or report this with the recipe.",
        )


def _run(
    request: CompileRequest, environment: dict[str, str], answer: Path, log: Path, on_tick: OnTick
) -> int:
    started = time.monotonic()
    command = [sys.executable, "-m", AOT_MODULE, str(answer)]
    with log.open("wb") as output:
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=output, stderr=output, env=environment
        )
        try:
            _send(child, request.model_dump_json().encode() + b"\n")
            while child.poll() is None:
                on_tick(time.monotonic() - started)
                time.sleep(_TICK_S)
        finally:
            child.kill()
            child.communicate()
    return child.returncode


def _send(child: "subprocess.Popen[bytes]", request: bytes) -> None:
    """Send the request and leave the pipe open: its end tells the child that nobody waits any more."""
    assert child.stdin is not None
    try:
        child.stdin.write(request)
        child.stdin.flush()
    except BrokenPipeError:
        return  # it died while starting; its log says why


def _environment(target: Target) -> dict[str, str]:
    named = os.environ | compiler_environment(target)
    if assembler := assembler_directory():
        named["PATH"] = f"{assembler}{os.pathsep}{named.get('PATH', '')}"
    return named


def _read_answer(answer: Path) -> CompiledStep:
    try:
        return CompiledStep.model_validate_json(answer.read_bytes())
    except ValidationError as error:
        raise TunixRTError(
            f"The compiling process gave an answer that cannot be read: {error}",
            next_step="Use --fast for the estimate alone, or report this with the recipe.",
        ) from error


def _last_lines(log: Path) -> str:
    text = log.read_text(encoding="utf-8", errors="replace").strip()
    return text[-_SHOWN_CHARS:] or "it said nothing"
