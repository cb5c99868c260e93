"""Run docker-compose.yml without Docker: the same commands, environment and order, as plain processes.

`Translation.places` maps host names and paths inside the containers to those of this machine.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from support.children import PROGRAM

ROOT = Path(__file__).parents[3]
DEADLINE_S = 300
_VARIABLE = re.compile(r"\$\{(\w+)(?::\?[^}]*)?\}")


def compose_file() -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    return parsed


def dockerfile_line(word: str) -> str:
    """Return the arguments of the last Dockerfile instruction `word`."""
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    return next(line for line in reversed(lines) if line.startswith(f"{word} ")).removeprefix(f"{word} ")


@dataclass(frozen=True)
class Translation:
    """Replaces variables, host names and paths of the containers."""

    variables: Mapping[str, str]
    """The contents of `.env`."""
    places: Mapping[str, str]

    def text(self, written: str) -> str:
        translated = _VARIABLE.sub(lambda found: self.variables[found[1]], written)
        for there, here in self.places.items():
            translated = translated.replace(there, here)
        return translated


class ComposeServices:
    """The services that have been started."""

    def __init__(self, translation: Translation, environ: Mapping[str, str], logs: Path) -> None:
        self._translation = translation
        self._environ = environ
        self._logs = logs
        self.services: dict[str, Any] = compose_file()["services"]
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def environment_of(self, service: Mapping[str, Any]) -> dict[str, str]:
        environ = {name: self._translation.text(str(value)) for name, value in service["environment"].items()}
        return {**self._environ, **environ}

    def start(self, name: str) -> None:
        """Start a service after the conditions of its dependencies hold."""
        service = self.services[name]
        for other, wanted in service["depends_on"].items():
            self._wait_for(other, wanted["condition"])
        assert json.loads(dockerfile_line("ENTRYPOINT")) == ["tunix-rt"]
        command = [*PROGRAM, *map(self._translation.text, service["command"])]
        with self.log_of(name).open("wb") as log:
            self.processes[name] = subprocess.Popen(
                command, env=self.environment_of(service), stdout=log, stderr=log
            )

    def log_of(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def stop(self) -> dict[str, int]:
        """Stop the services in reverse order, as Docker does, and return their exit codes."""
        for process in reversed(self.processes.values()):
            if process.poll() is None:
                process.terminate()
        return {name: process.wait(timeout=DEADLINE_S) for name, process in self.processes.items()}

    def _wait_for(self, name: str, condition: str) -> None:
        if name not in self.processes:
            return  # PostgreSQL is already running.
        if condition == "service_completed_successfully":
            assert self.processes[name].wait(timeout=DEADLINE_S) == 0, self.log_of(name).read_text()
        else:
            assert condition == "service_healthy"
            self.await_health(name)

    def await_health(self, name: str) -> None:
        """Wait until the health check of a service passes."""
        kind, *command = self.services[name]["healthcheck"]["test"]
        assert (kind, command[0]) == ("CMD", "python")
        check = [sys.executable, *map(self._translation.text, command[1:])]
        deadline = time.monotonic() + DEADLINE_S
        while subprocess.run(check, capture_output=True).returncode != 0:
            assert self.processes[name].poll() is None, self.log_of(name).read_text()
            assert time.monotonic() < deadline, self.log_of(name).read_text()
            time.sleep(0.5)


@contextmanager
def composed(translation: Translation, environ: Mapping[str, str], logs: Path) -> Iterator[ComposeServices]:
    """Start our services in the order of the file, and stop them when the context ends."""
    running = ComposeServices(translation, environ, logs)
    with ExitStack() as stack:
        stack.callback(running.stop)
        for name in ("token", "server", "worker"):
            running.start(name)
        yield running
