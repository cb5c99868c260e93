"""`tunix-rt tokens`, and the server that wants one."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tunix_rt.base.errors import ConflictError, InvalidInputError, NotFoundError
from tunix_rt.cli.main import app


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, sqlite_template: Path) -> None:
    """Every command runs on the store of this test; the repository is tested on both databases."""
    (tmp_path / "home").mkdir()
    shutil.copy(sqlite_template, tmp_path / "home" / "tunix_rt.db")


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


def run(*arguments: str | Path) -> str:
    result = invoke("tokens", *arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_token_is_shown_once_and_listed_without_itself() -> None:
    token = run("create", "laptop", "--scope", "write", "--days", "30").strip()
    assert token.startswith("trt_")
    (known,) = json.loads(run("list", "--json"))["data"]
    assert (known["name"], known["scope"], known["standing"]) == ("laptop", "write", "valid")
    assert token.split("_")[1] == known["token_id"]
    assert known["expires_at"] > known["created_at"]
    assert token.split("_", 2)[2] not in run("list") + run("list", "--json")


def test_a_token_is_revoked_by_its_id() -> None:
    made = json.loads(run("create", "laptop", "--json"))
    assert made["token"].startswith(f"trt_{made['token_id']}_")
    assert "Revoked the token" in run("revoke", made["token_id"])
    assert json.loads(run("list", "--json"))["data"][0]["standing"] == "revoked"
    assert isinstance(invoke("tokens", "revoke", "unknown").exception, NotFoundError)


def test_no_tokens_is_a_next_step() -> None:
    assert "tunix-rt tokens create" in run("list")


@pytest.mark.parametrize("name", ["", "x" * 65])
def test_a_token_without_a_proper_name_is_refused(name: str) -> None:
    assert isinstance(invoke("tokens", "create", name).exception, InvalidInputError)


@pytest.mark.parametrize("content", ["", "short", "with blanks " * 5, "\u00e4" * 40])
def test_a_file_whose_content_could_be_guessed_holds_no_token(tmp_path: Path, content: str) -> None:
    file = tmp_path / "token.txt"
    file.write_text(content)
    refused = invoke("tokens", "create", "box", "--from-file", file)
    assert isinstance(refused.exception, InvalidInputError)
    assert "token_urlsafe" in refused.exception.next_step
    missing = invoke("tokens", "create", "box", "--from-file", tmp_path / "missing")
    assert isinstance(missing.exception, InvalidInputError)


def test_a_token_from_a_file_is_accepted_once_and_again(tmp_path: Path) -> None:
    file = tmp_path / "token.txt"
    file.write_text("0123456789-" * 4 + "\n")
    create = ("create", "box", "--scope", "write", "--from-file", file)
    first = json.loads(run(*create, "--json"))
    assert json.loads(run(*create, "--json")) == first
    widened = invoke("tokens", "create", "box", "--scope", "admin", "--from-file", file)
    assert isinstance(widened.exception, ConflictError)
    run("revoke", first["token_id"])
    assert isinstance(invoke("tokens", *create).exception, ConflictError)


def test_a_public_server_needs_a_valid_token() -> None:
    refused = invoke("up", "--host", "0.0.0.0").exception
    assert isinstance(refused, InvalidInputError)
    assert "tunix-rt tokens create" in refused.next_step
    made = json.loads(run("create", "laptop", "--json"))
    run("revoke", made["token_id"])
    assert isinstance(invoke("up", "--host", "box.example").exception, InvalidInputError)
