"""Nothing that is printed or logged can control a terminal or look like another line."""

import json
import logging
import sys

import pytest
from rich.text import Text

from tunix_rt.base.logs import JsonLines, TextLines, visible
from tunix_rt.base.terminal.output import out, print_json, print_table, printable, say

HOSTILE = "a\x1b[2J\x9b31m\x07\u202eb\u2028c\rd"


def record_of(message: str) -> logging.LogRecord:
    try:
        raise ValueError(f"{message}\n2026-01-01 info forged: line")
    except ValueError:
        return logging.LogRecord("x", logging.INFO, "", 0, message, None, sys.exc_info())


def has_control(text: str) -> bool:
    return any(visible(char) != char for char in text if char not in "\n\t")


def test_text_log_line_cannot_be_forged() -> None:
    line = TextLines().format(record_of(f"{HOSTILE}\n2026-01-01 info forged: line"))
    assert not has_control(line)
    first, *trace = line.split("\n")
    assert "\\u001b[2J" in first
    assert all(part.startswith("  ") for part in trace)


def test_json_log_line_is_one_line_of_json() -> None:
    line = JsonLines().format(record_of(HOSTILE))
    assert visible(line) == line
    assert json.loads(line)["message"] == HOSTILE


def test_printed_text_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    say(HOSTILE)
    out.print(Text(HOSTILE, style="bold"))
    print_table(["name"], [[f"{HOSTILE}\nnext"]], title=HOSTILE)
    print_json({"name": HOSTILE})
    printed = capsys.readouterr().out
    assert not has_control(printed)
    assert "\\u000anext" in printed
    assert json.loads(printed.strip().splitlines()[-1]) == {"name": HOSTILE}


def test_other_scripts_are_kept() -> None:
    assert printable("é 漢\u3000字 👩\u200d🔬\n\t\u00a0") == "é 漢\u3000字 👩\u200d🔬\n\t\u00a0"
