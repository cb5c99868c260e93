"""Commands to copy into the shell that started this one: the same program, the same home."""

import os
import shlex
import shutil
import sys
from pathlib import Path


def as_called(command: str) -> str:
    """The command, so that it finds what this one has made.

    Example:
        "eval list" after `make demo` -> "TUNIX_RT_HOME=.demo .venv/bin/tunix-rt eval list"
    """
    home = os.environ.get("TUNIX_RT_HOME")
    where = f"TUNIX_RT_HOME={_from_here(Path(home))} " if home else ""
    return f"{where}{program()} {command}"


def program() -> str:
    """This program as a shell finds it: by its name only where that is the same one."""
    called = Path(sys.argv[0])
    if called.name != "tunix-rt":
        return f"{_from_here(Path(sys.executable))} -m tunix_rt.cli"
    found = shutil.which("tunix-rt")
    return "tunix-rt" if found and Path(found).samefile(called) else _from_here(called)


def _from_here(path: Path) -> str:
    here = Path.cwd()
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))
