"""Compiles a step in a process of its own: the compiler's environment, memory and crashes stay there."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from pydantic import ValidationError

from tunix_rt.core.errors import MissingExtraError, TunixRTError
from tunix_rt.core.targets import Target
from tunix_rt.engines.planning.protocol import CompiledStep, CompileRequest, TopologyRequest

AOT_MODULE = "tunix_rt.engines.jax.aot"
_TICK_S = 0.2
_SHOWN_CHARS = 2_000

OnTick = Callable[[float], None]
"""Told how many seconds the compiler has been at work."""


def require_compiler(target: Target) -> None:
    """Refuse when this machine cannot compile for the target.

    Raises:
        MissingExtraError: A package is missing.
    """
    if find_spec("jax") is None or find_spec("optax") is None:
        raise MissingExtraError("Compiling a plan", extra="jax")
    if target.topology is not None and find_spec("libtpu") is None:
        raise MissingExtraError("Compiling for a TPU that is not there", extra="tpu-plan")


def topology_request(target: Target) -> TopologyRequest | None:
    """How the child is told which TPU slice to compile for; None for the devices of this machine."""
    if target.topology is None:
        return None
    return TopologyRequest(
        name=target.topology.name, chips_per_host_bounds=target.topology.chips_per_host_bounds
    )


def compile_in_child(request: CompileRequest, target: Target, on_tick: OnTick) -> CompiledStep:
    """Run the compiler to its end, or to Ctrl-C, which ends it too.

    Raises:
        TunixRTError: It crashed or refused for another reason than memory.
    """
    with tempfile.TemporaryDirectory(prefix="tunix-rt-plan-") as directory:
        answer, log = Path(directory) / "answer.json", Path(directory) / "log.txt"
        code = _run(request, _environment(target), answer, log, on_tick)
        if code == 0 and answer.is_file():
            return _read_answer(answer)
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
    """The platform must be known before JAX is imported."""
    named = os.environ | {"JAX_PLATFORMS": "cuda" if target.platform == "gpu" else "cpu"}
    if target.platform == "cpu" and target.num_devices > 1:
        flag = f"--xla_force_host_platform_device_count={target.num_devices}"
        named["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}".strip()
    if target.topology is None:
        return named
    return named | {
        "TPU_SKIP_MDS_QUERY": "1",
        "TPU_ACCELERATOR_TYPE": target.topology.accelerator_type,
        "TPU_WORKER_HOSTNAMES": "localhost",
        "TPU_WORKER_ID": "0",
        # Else a second plan at the same time aborts on libtpu's lock file.
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    }


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
