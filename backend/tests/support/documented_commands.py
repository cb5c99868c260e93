"""The commands in the documentation, and functions that run them with the real CLI and the real app."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import typer
from fastapi.testclient import TestClient
from typer.main import get_command
from typer.testing import CliRunner

from support.apps import make_app
from tunix_rt.base.errors import TunixRTError
from tunix_rt.base.home import open_home
from tunix_rt.base.settings import Settings
from tunix_rt.cli.launchers import eval_generate_command, package_submission_command, training_command
from tunix_rt.cli.main import app

BLOCK = re.compile(r"^```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```", re.M | re.S)
SHELL = "console"


@dataclass(frozen=True)
class Block:
    """A fenced block of a page. A block with a title is a file that the reader creates."""

    language: str
    title: str | None
    text: str

    @property
    def commands(self) -> list[str]:
        """Return one command per line; a backslash continues a line, and # starts a comment."""
        if self.language != SHELL:
            return []
        lines = self.text.replace("\\\n", " ").splitlines()
        return [command for line in lines if (command := _without_comment(line))]


def blocks_of(page: Path) -> list[Block]:
    """Return every fenced block of a page, in order."""
    found = BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [Block(one["language"], one["title"], one["text"]) for one in found]


def _without_comment(line: str) -> str:
    return re.sub(r"(^|\s+)#\s.*$", "", line).strip()


def fill_placeholders(command: str, stand_ins: Mapping[str, str]) -> str:
    """Replace the placeholders of a documented command with real names.

    Example:
        "tunix-rt runs show RUN", {"RUN": "run-1"} -> "tunix-rt runs show run-1"
    """
    for word, name in stand_ins.items():
        command = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", name, command)
    return command


def launchers() -> dict[str, typer.Typer]:
    """Return the launcher scripts that `python` runs, by path."""
    commands = {
        "training/run_train_jax.py": training_command("jax"),
        "training/train_jax.py": training_command("jax"),
        "training_pt/train.py": training_command("torch"),
        "training/eval_generate.py": eval_generate_command,
        "backend/tools/package_submission.py": package_submission_command,
    }
    return {path: _single(command) for path, command in commands.items()}


def _single(command: Any) -> typer.Typer:
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    single.command()(command)
    return single


def typed(command: str) -> tuple[typer.Typer, list[str]]:
    """Return the app that a command belongs to and its arguments; a `torchrun` prefix is dropped."""
    words = shlex.split(command)
    if words[0] == "torchrun":
        words = words[words.index("tunix-rt") :]
    if words[0] == "python":
        return launchers()[words[1]], words[2:]
    assert words[0] == "tunix-rt", command
    return app, words[1:]


def parse(command: str) -> None:
    """Parse a command with the real parser without running it. Raises on unknown arguments."""
    line, words = typed(command)
    found: Any = get_command(line)
    context = found.make_context(found.name, list(words))
    while hasattr(found, "resolve_command"):
        name, found, rest = found.resolve_command(context, [*context._protected_args, *context.args])
        context = found.make_context(name, rest, parent=context)


def run(command: str, *, stdin: bytes | None = None) -> tuple[int, str]:
    """Run a command in this process and return its exit code and its output or error."""
    line, words = typed(command)
    result = CliRunner().invoke(line, words, input=stdin)
    if isinstance(result.exception, TunixRTError):
        return result.exception.exit_code, str(result.exception)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def run_elsewhere(command: str) -> bytes:
    """Run an installed program such as openssl or zcat, which must succeed, and return its output."""
    return subprocess.run(shlex.split(command), capture_output=True, check=True, timeout=120).stdout


def request(command: str) -> tuple[int, str]:
    """Send the request of a `curl` command to the app and return status and body."""
    arguments = _request_of(shlex.split(command)[1:])
    store = open_home(Settings())
    try:
        with TestClient(make_app(store), base_url="http://127.0.0.1:8000") as client:
            answer = client.request(**arguments)
            return answer.status_code, answer.text
    finally:
        store.close()


def _request_of(words: Sequence[str]) -> dict[str, Any]:
    """Parse the method, path, headers and content of a `curl` command line.

    Example:
        ["-X", "POST", "127.0.0.1:8000/api/x", "-d", "{}"] -> POST /api/x with the content {}
    """
    arguments: dict[str, Any] = {"method": "GET", "headers": {}}
    rest: Iterator[str] = iter(words)
    for word in rest:
        if word == "-X":
            arguments["method"] = next(rest)
        elif word == "-H":
            name, _, value = next(rest).partition(":")
            arguments["headers"][name] = value.strip()
        elif word == "-d":
            arguments["content"] = next(rest)
            json.loads(arguments["content"])
        elif word == "-C":
            next(rest)
        elif not word.startswith("-"):
            url = urlsplit(word if "://" in word else f"http://{word}")
            assert url.netloc == "127.0.0.1:8000", word
            arguments["url"] = f"{url.path}?{url.query}" if url.query else url.path
    return arguments
