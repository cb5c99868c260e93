import os
import signal
import subprocess
import sys
import time
from itertools import count, islice

import pytest

from tunix_rt.base.errors import TunixRTError
from tunix_rt.base.host import worker_processes


def test_results_keep_item_order() -> None:
    with worker_processes() as mapper:
        assert list(mapper(abs, range(-50, 0))) == list(range(50, 0, -1))


def test_mapper_accepts_infinite_iterables() -> None:
    with worker_processes() as mapper:
        assert list(islice(mapper(abs, count()), 3)) == [0, 1, 2]


def test_killed_worker_suggests_freeing_memory() -> None:
    with worker_processes() as mapper, pytest.raises(TunixRTError, match="Free memory"):
        list(mapper(os._exit, [1]))


PARENT_PROGRAM = """
import time
from tunix_rt.base.host import worker_processes
if __name__ == "__main__":
    with worker_processes() as mapper:
        next(mapper(abs, [1]))
        print("working", flush=True)
        time.sleep(60)
"""


def test_killed_parent_ends_workers(tmp_path: os.PathLike[str]) -> None:
    program = os.path.join(tmp_path, "program.py")
    with open(program, "w") as file:
        file.write(PARENT_PROGRAM)
    parent = subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, start_new_session=True)
    with parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"working\n"
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while _group_is_alive(parent.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _group_is_alive(parent.pid)


def _group_is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
