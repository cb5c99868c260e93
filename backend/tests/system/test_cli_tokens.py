"""`tunix-rt tokens`, and the token that a public server requires."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tunix_rt.base.errors import ConflictError, InvalidInputError, NotFoundError
from tunix_rt.cli.main import app


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, sqlite_template: Path) -> None:
    """Run every command on a SQLite store; the repository is tested on both databases."""
    (tmp_path / "home").mkdir()
    shutil.copy(sqlite_template, tmp_path / "home" / "tunix_rt.db")


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


def run(*arguments: str | Path) -> str:
    result = invoke("tokens", *arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_token_is_shown_only_once() -> None:
    token = run("create", "laptop", "--scope", "write", "--days", "30").strip()
    assert token.startswith("trt_")
    (listed,) = json.loads(run("list", "--json"))["data"]
    assert (listed["name"], listed["scope"], listed["standing"]) == ("laptop", "write", "valid")
    assert token.split("_")[1] == listed["token_id"]
    assert listed["expires_at"] > listed["created_at"]
    assert token.split("_", 2)[2] not in run("list") + run("list", "--json")


def test_token_is_revoked_by_id() -> None:
    created = json.loads(run("create", "laptop", "--json"))
    assert created["token"].startswith(f"trt_{created['token_id']}_")
    assert "Revoked the token" in run("revoke", created["token_id"])
    assert json.loads(run("list", "--json"))["data"][0]["standing"] == "revoked"
    assert isinstance(invoke("tokens", "revoke", "unknown").exception, NotFoundError)


def test_empty_list_suggests_create() -> None:
    assert "tunix-rt tokens create" in run("list")


@pytest.mark.parametrize("name", ["", "x" * 65])
def test_invalid_token_name_is_refused(name: str) -> None:
    assert isinstance(invoke("tokens", "create", name).exception, InvalidInputError)


@pytest.mark.parametrize("content", ["", "short", "with blanks " * 5, "\u00e4" * 40])
def test_weak_token_file_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "token.txt"
    file.write_text(content)
    refused = invoke("tokens", "create", "box", "--from-file", file)
    assert isinstance(refused.exception, InvalidInputError)
    assert "token_urlsafe" in refused.exception.next_step
    missing = invoke("tokens", "create", "box", "--from-file", tmp_path / "missing")
    assert isinstance(missing.exception, InvalidInputError)


def test_token_from_file_is_idempotent(tmp_path: Path) -> None:
    file = tmp_path / "token.txt"
    file.write_text("0123456789-" * 4 + "\n")
    create = ("create", "box", "--scope", "write", "--from-file", file)
    first = json.loads(run(*create, "--json"))
    assert json.loads(run(*create, "--json")) == first
    widened = invoke("tokens", "create", "box", "--scope", "admin", "--from-file", file)
    assert isinstance(widened.exception, ConflictError)
    run("revoke", first["token_id"])
    assert isinstance(invoke("tokens", *create).exception, ConflictError)


def test_public_server_requires_a_token() -> None:
    refused = invoke("up", "--host", "0.0.0.0").exception
    assert isinstance(refused, InvalidInputError)
    assert "tunix-rt tokens create" in refused.next_step
    created = json.loads(run("create", "laptop", "--json"))
    run("revoke", created["token_id"])
    assert isinstance(invoke("up", "--host", "box.example").exception, InvalidInputError)
