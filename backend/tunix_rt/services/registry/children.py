"""Commands of ours in a child process: engines run there, never in the process that serves."""

import os
import subprocess
import sys
from pathlib import Path

from tunix_rt.base.errors import child_error
from tunix_rt.base.settings import Settings


def run_models_command(settings: Settings, what: str, *arguments: str | Path) -> str:
    """Run `tunix-rt models …` to its end; what it printed.

    Raises:
        TunixRTError: It failed, for a reason of the kind that its exit code says.
    """
    database = {} if settings.database_url is None else {"TUNIX_RT_DATABASE_URL": settings.database_url}
    done = subprocess.run(
        [sys.executable, "-m", "tunix_rt.cli", "models", *map(str, arguments), "--json"],
        env=os.environ | {"TUNIX_RT_HOME": str(settings.home_dir)} | database,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode:
        raise child_error(what, done.returncode, done.stderr)
    return done.stdout
