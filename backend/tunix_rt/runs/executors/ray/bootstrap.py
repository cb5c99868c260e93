"""Actor code sent by value. Standard library only.

It unpacks the package of the worker, so that both ends have the same version, and delegates to
`ray.node.Node` of that package.
"""

import fcntl
import io
import os
import shutil
import sys
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

_LOCK = ".lock"


class Bootstrap:
    """A scratch directory on a node for one attempt at a run."""

    def __init__(self, package: bytes, run_id: str) -> None:
        """Create a scratch directory, unpack the package there and load it.

        Args:
            package: A zip of the package directory.
            run_id: Of the run.
        """
        # The parent of the scratch directories of this user on this node.
        home = Path(tempfile.gettempdir()) / f"tunix-rt-ray-{os.getuid()}"
        home.mkdir(mode=0o700, exist_ok=True)
        if home.stat().st_uid != os.getuid():
            raise PermissionError(f"{home} belongs to another user; set TMPDIR on this node")
        remove_abandoned(home)
        self._scratch = Path(tempfile.mkdtemp(dir=home))
        self._lock = hold(self._scratch)
        code = self._scratch / "code"
        with zipfile.ZipFile(io.BytesIO(package)) as archive:
            archive.extractall(code)
        sys.path.insert(0, str(code))
        # The supervisor and the engine are processes of their own.
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(code), os.environ.get("PYTHONPATH")]))
        from tunix_rt.runs.executors.ray.node import Node

        self._node = Node(self._scratch / "home", run_id)

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the node."""
        return getattr(self._node, method)(*arguments)

    def close(self) -> None:
        """End everything and delete the scratch directory."""
        self._node.close()
        shutil.rmtree(self._scratch, ignore_errors=True)
        os.close(self._lock)


def hold(scratch: Path) -> int:
    """Lock the directory for the life of this process; the lock file appears only when it is held."""
    unnamed = scratch / f"{_LOCK}.new"
    descriptor = os.open(unnamed, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    unnamed.rename(scratch / _LOCK)
    return descriptor


def remove_abandoned(home: Path) -> None:
    """Delete the scratch directories of killed actors."""
    for lock in home.glob(f"*/{_LOCK}"):
        with suppress(OSError):  # still in use, or removed by another actor meanwhile
            descriptor = os.open(lock, os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)
            finally:
                os.close(descriptor)
