"""Golden files and the commands whose output they record. `pytest --update-golden` rewrites the files."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from tunix_rt.cli.main import app

GOLDEN = Path(__file__).parents[1] / "golden"


def command_output(*arguments: str | Path, exit_codes: Collection[int] = (0,)) -> str:
    """Return the standard output of a command, which must exit with one of `exit_codes`."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in exit_codes, result.output
    return result.stdout


def json_lines(entries: dict[str, Any]) -> str:
    """Return a JSON object with one line per entry, which keeps diffs readable."""
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in entries.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def recorded(file: str, case: str, value: Any, *, update: bool) -> Any:
    """Return the recorded value of one case in a golden file; `update` records `value` first."""
    path = GOLDEN / file
    entries: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if update:
        entries[case] = value
        path.write_text(json_lines(dict(sorted(entries.items()))), encoding="utf-8")
    return entries[case]
