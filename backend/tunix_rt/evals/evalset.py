"""Reading an eval set from its JSONL file, with the line of everything that is wrong."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from tunix_rt.base.errors import DataError, NotFoundError, first_problems
from tunix_rt.base.records import explain_validation_error
from tunix_rt.core.evalset import EvalItem

MAX_LINE_BYTES = 1 << 20


@dataclass(frozen=True)
class EvalLine:
    """One line of an eval set file: an item, or the reason why it is none."""

    line: int
    item: EvalItem | None
    problem: str = ""


def read_eval_lines(path: Path) -> Iterator[EvalLine]:
    """Every line that is not blank, in order, with its 1-based number. Never raises for a bad line."""
    if not path.is_file():
        raise NotFoundError(f"There is no eval set file {path}.", next_step="Check the path.")
    with path.open("rb") as file:
        number = 0
        while raw := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(raw) > MAX_LINE_BYTES:
                yield EvalLine(number, None, f"is longer than {MAX_LINE_BYTES} bytes; reading stopped here")
                return
            if raw.strip():
                yield _parsed(number, raw)


def load_evalset(path: Path) -> tuple[EvalItem, ...]:
    """All items of a file. A line that is no item, or an id used twice, is a DataError naming the line."""
    lines = list(read_eval_lines(path))
    problems = [f"line {line.line}: {line.problem}" for line in lines if line.problem] + _repeated_ids(lines)
    if not lines:
        problems.append("the file holds no items")
    if problems:
        raise DataError(
            f"{path.name} is not a usable eval set: {first_problems(problems)}.",
            next_step=f"Run: tunix-rt data validate {shlex.quote(str(path))}, and correct what it names.",
        )
    return tuple(line.item for line in lines if line.item is not None)


def _parsed(number: int, raw: bytes) -> EvalLine:
    try:
        return EvalLine(number, EvalItem.model_validate_json(raw))
    except ValidationError as error:
        return EvalLine(number, None, explain_validation_error(error, whole="item"))


def _repeated_ids(lines: list[EvalLine]) -> list[str]:
    first_line: dict[str, int] = {}
    problems = []
    for line in lines:
        if line.item is None:
            continue
        first = first_line.setdefault(line.item.id, line.line)
        if first != line.line:
            problems.append(f"line {line.line}: id {line.item.id!r} is also on line {first}")
    return problems
