import os
import signal
import subprocess
import sys
import time
from itertools import count, islice

import pytest

from tunix_rt.base.errors import TunixRTError
from tunix_rt.base.host import worker_processes


def test_workers_give_results_in_the_order_of_the_items() -> None:
    with worker_processes() as mapper:
        assert list(mapper(abs, range(-50, 0))) == list(range(50, 0, -1))


def test_workers_take_only_a_few_items_ahead() -> None:
    with worker_processes() as mapper:
        assert list(islice(mapper(abs, count()), 3)) == [0, 1, 2]


def test_a_killed_worker_process_is_explained() -> None:
    with worker_processes() as mapper, pytest.raises(TunixRTError, match="Free memory"):
        list(mapper(os._exit, [1]))


SLEEPING = """
import time
from tunix_rt.base.host import worker_processes
if __name__ == "__main__":
    with worker_processes() as mapper:
        next(mapper(abs, [1]))
        print("working", flush=True)
        time.sleep(60)
"""


def test_a_killed_parent_takes_its_workers_with_it(tmp_path: os.PathLike[str]) -> None:
    program = os.path.join(tmp_path, "program.py")
    with open(program, "w") as file:
        file.write(SLEEPING)
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
