"""The commands that the pages show, and what runs them: the real command line and the real app."""

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
    """A fenced block of a page; one with a title is a file that the reader writes."""

    language: str
    title: str | None
    text: str

    @property
    def commands(self) -> list[str]:
        """One a line; a line that ends in a backslash goes on, and what follows a # is for the reader."""
        if self.language != SHELL:
            return []
        lines = self.text.replace("\\\n", " ").splitlines()
        return [command for line in lines if (command := _without_comment(line))]


def blocks_of(page: Path) -> list[Block]:
    """Every fenced block, in order."""
    found = BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [Block(one["language"], one["title"], one["text"]) for one in found]


def _without_comment(line: str) -> str:
    return re.sub(r"(^|\s+)#\s.*$", "", line).strip()


def filled_in(command: str, stand_ins: Mapping[str, str]) -> str:
    """The command with real names where the page has names that the reader replaces.

    Example:
        "tunix-rt runs show RUN", {"RUN": "run-1"} -> "tunix-rt runs show run-1"
    """
    for word, name in stand_ins.items():
        command = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", name, command)
    return command


def launchers() -> dict[str, typer.Typer]:
    """The scripts that `python` runs, by path."""
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
    """The command line that a command is for, and its arguments; `torchrun` only starts one."""
    words = shlex.split(command)
    if words[0] == "torchrun":
        words = words[words.index("tunix-rt") :]
    if words[0] == "python":
        return launchers()[words[1]], words[2:]
    assert words[0] == "tunix-rt", command
    return app, words[1:]


def parse(command: str) -> None:
    """Let the real parser read a command that is not run; it raises on what it does not know."""
    line, words = typed(command)
    found: Any = get_command(line)
    context = found.make_context(found.name, list(words))
    while hasattr(found, "resolve_command"):
        name, found, rest = found.resolve_command(context, [*context._protected_args, *context.args])
        context = found.make_context(name, rest, parent=context)


def run(command: str, *, stdin: bytes | None = None) -> tuple[int, str]:
    """Run it in this process: exit code, and what it printed or the error that it ended with."""
    line, words = typed(command)
    done = CliRunner().invoke(line, words, input=stdin)
    if isinstance(done.exception, TunixRTError):
        return done.exception.exit_code, str(done.exception)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def run_elsewhere(command: str) -> bytes:
    """What a program of the machine prints (openssl, zcat); it must succeed."""
    return subprocess.run(shlex.split(command), capture_output=True, check=True, timeout=120).stdout


def request(command: str) -> tuple[int, str]:
    """Send what `curl` would send to the app over the home: status and body."""
    asked = _request_of(shlex.split(command)[1:])
    store = open_home(Settings())
    try:
        with TestClient(make_app(store), base_url="http://127.0.0.1:8000") as client:
            answer = client.request(**asked)
            return answer.status_code, answer.text
    finally:
        store.close()


def _request_of(words: Sequence[str]) -> dict[str, Any]:
    """Method, path, headers and content of a `curl` command line.

    Example:
        ["-X", "POST", "127.0.0.1:8000/api/x", "-d", "{}"] -> POST /api/x with the content {}
    """
    asked: dict[str, Any] = {"method": "GET", "headers": {}}
    rest: Iterator[str] = iter(words)
    for word in rest:
        if word == "-X":
            asked["method"] = next(rest)
        elif word == "-H":
            name, _, value = next(rest).partition(":")
            asked["headers"][name] = value.strip()
        elif word == "-d":
            asked["content"] = next(rest)
            json.loads(asked["content"])
        elif word == "-C":
            next(rest)
        elif not word.startswith("-"):
            url = urlsplit(word if "://" in word else f"http://{word}")
            assert url.netloc == "127.0.0.1:8000", word
            asked["url"] = f"{url.path}?{url.query}" if url.query else url.path
    return asked
