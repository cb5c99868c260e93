"""The limits of a sandboxed function. The attacks run as real Python code in the child process."""

import os
import time

import pytest

from tunix_rt.base.sandbox import Limits, Sandbox, SandboxError, filters_system_calls

linux = pytest.mark.skipif(
    not filters_system_calls(), reason="system calls are filtered on Linux, x86-64 and AArch64"
)


def _run(code: str) -> object:
    """The value of `result` after running a program, as a verifier that calls `eval` would run it."""
    names: dict[str, object] = {}
    exec(code, names)
    return names.get("result")


def _echo(value: object, repeat: int = 1) -> object:
    return [value] * repeat


SECONDS = Limits(cpu_s=1, wall_s=10, memory_bytes=256 << 20, reply_bytes=1 << 20)
ATTACKS = {
    "os.system": "import os; result = 1 / (os.system('touch {path}') == 0)",
    "fork": "import os; result = os.fork()",
    "posix_spawn": "import os; result = os.posix_spawn('/bin/true', ['true'], {{}})",
    "fork_exec": (
        "import os, _posixsubprocess; r, w = 1, 3\n"
        "result = _posixsubprocess.fork_exec(['touch', '{path}'], (b'/usr/bin/touch',), True, (3,), None,"
        " None, -1, -1, -1, -1, -1, -1, r, w, False, False, 0, None, None, None, -1, None, True)"
    ),
    "ctypes": "import ctypes; result = 1 / (ctypes.CDLL(None).system(b'touch {path}') == 0)",
    "exec": "import os; os.execv('/usr/bin/touch', ['touch', '{path}'])",
    "write": "result = open('{path}', 'w')",
    "append": "import os; result = os.open('{path}', os.O_WRONLY | os.O_CREAT)",
    "mkdir": "import os; result = os.mkdir('{path}')",
    "symlink": "import os; result = os.symlink('/etc/passwd', '{path}')",
    "socket": "import socket; result = socket.socket()",
    "kill": "import os; result = os.kill(os.getppid(), 0)",
    "ptrace": "import ctypes; result = 1 / (1 + ctypes.CDLL(None).ptrace(16, 1, 0, 0))",
    "raise limits": "import resource; resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
    "memory file": "import os; result = os.memfd_create('x')",
}


@linux
@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_are_refused(attack, tmp_path):
    target = tmp_path / "created"
    with pytest.raises(SandboxError, match=r"PermissionError|ZeroDivisionError|not allowed"):
        _READER(ATTACKS[attack].format(path=target))
    assert not target.exists()
    assert _READER("result = 6 * 7") == 42  # The same child still computes.


@linux
def test_threads_started_before_are_confined(tmp_path):
    sandbox = Sandbox(_run, prepare=_start_thread, limits=SECONDS, can_read_files=True)
    module = __name__.rpartition(".")[2]
    code = f"import {module} as me; me.TRY.put('{tmp_path / 'created'}'); result = me.OUTCOME.get()"
    assert sandbox(code) == "PermissionError"
    sandbox.close()


def _start_thread() -> None:
    import queue
    import sys
    import threading

    module = sys.modules[__name__]
    sys.modules[__name__.rpartition(".")[2]] = module
    module.TRY, module.OUTCOME = queue.Queue(), queue.Queue()  # type: ignore[attr-defined]

    def create() -> None:
        try:
            os.mkdir(module.TRY.get())
            module.OUTCOME.put("created")
        except OSError as error:
            module.OUTCOME.put(type(error).__name__)

    threading.Thread(target=create, daemon=True).start()


@linux
def test_files_are_unreadable_by_default(tmp_path):
    (tmp_path / "secret").write_text("token")
    sandbox = Sandbox(_run, limits=SECONDS)
    with pytest.raises(SandboxError, match="PermissionError"):
        sandbox(f"result = open('{tmp_path / 'secret'}').read()")
    sandbox.close()
    assert _READER(f"result = open('{tmp_path / 'secret'}').read()") == "token"


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "result = 9 ** 9 ** 9",
        "result = bytearray(1 << 30)",
        "result = 'x' * (2 << 20)",
        "import os; os._exit(3)",
    ],
    ids=["endless", "power", "memory", "output", "exit"],
)
def test_limits_end_the_call(code):
    with pytest.raises(SandboxError, match=r"needed more than|MemoryError"):
        _READER(code)
    assert _READER("result = 1") == 1


def test_sleeping_child_is_killed():
    sandbox = Sandbox(_run, limits=Limits(wall_s=1))
    sandbox("result = 1")
    start = time.monotonic()
    with pytest.raises(SandboxError):
        sandbox("import time, signal; signal.setitimer(signal.ITIMER_REAL, 0); time.sleep(60)")
    assert time.monotonic() - start < 30
    sandbox.close()


def test_environment_has_no_secrets(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    sandbox = Sandbox(_run, limits=SECONDS)
    assert sandbox("import os; result = 'HF_TOKEN' in os.environ") is False
    sandbox.close()


def test_prints_do_not_become_replies():
    code = "import sys; print('{\"result\": 1}', flush=True); result = 2"
    assert _READER(code) == 2


def test_results_come_back_as_json():
    sandbox = Sandbox(_echo)
    assert sandbox({"a": [1, None]}, repeat=2) == [{"a": [1, None]}] * 2
    sandbox.close()


def test_failed_start_names_cause():
    sandbox = Sandbox(_echo, prepare=_missing_library)
    with pytest.raises(SandboxError, match=r"did not start: .*no_such_library"):
        sandbox(1)


def _missing_library() -> None:
    import no_such_library  # type: ignore[import-not-found]  # noqa: F401


@pytest.fixture(scope="module", autouse=True)
def _close():
    yield
    _READER.close()


_READER = Sandbox(_run, limits=SECONDS, can_read_files=True)
