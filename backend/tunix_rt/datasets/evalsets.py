"""Read eval sets, and find them by name or path."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from tunix_rt.base.assets import shipped_evalset_names, shipped_evalset_path
from tunix_rt.base.errors import DataError, NotFoundError, did_you_mean, first_problems
from tunix_rt.base.records import explain_validation_error
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.types import EvalItem, evalset_hash

MAX_LINE_BYTES = 1 << 20


@dataclass(frozen=True)
class EvalLine:
    """One line of an eval set file: an item, or the problem with it."""

    line: int
    item: EvalItem | None
    problem: str = ""


def read_eval_lines(path: Path) -> Iterator[EvalLine]:
    """Every non-blank line with its 1-based number, in order. Never raises for an invalid line."""
    if not path.is_file():
        raise NotFoundError(f"There is no eval set file {path}.", next_step="Check the path.")
    with path.open("rb") as file:
        number = 0
        while raw := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(raw) > MAX_LINE_BYTES:
                yield EvalLine(number, None, f"is longer than {MAX_LINE_BYTES} bytes; reading stopped here")
                return
            if not raw.strip():
                continue
            try:
                yield EvalLine(number, EvalItem.model_validate_json(raw))
            except ValidationError as error:
                yield EvalLine(number, None, explain_validation_error(error, whole="item"))


def load_evalset(path: Path) -> tuple[EvalItem, ...]:
    """All items of a file. An invalid line or a repeated id is a DataError that names the line."""
    lines = list(read_eval_lines(path))
    problems = [f"line {line.line}: {line.problem}" for line in lines if line.problem]
    first_line: dict[str, int] = {}
    for line in lines:
        if line.item is not None and (first := first_line.setdefault(line.item.id, line.line)) != line.line:
            problems.append(f"line {line.line}: id {line.item.id!r} is also on line {first}")
    if not lines:
        problems.append("the file contains no items")
    if problems:
        raise DataError(
            f"{path.name} is not a usable eval set: {first_problems(problems)}.",
            next_step=f"Run: tunix-rt data validate {shlex.quote(str(path))}, and correct what it names.",
        )
    return tuple(line.item for line in lines if line.item is not None)


_ENDING = ".jsonl"


@dataclass(frozen=True)
class OpenedEvalSet:
    """An eval set in which every item is valid."""

    name: str
    items: tuple[EvalItem, ...]

    @property
    def content_hash(self) -> str:
        """SHA-256 of the items in their order."""
        return evalset_hash(self.items)

    def first(self, limit: int | None) -> "OpenedEvalSet":
        """The first `limit` items, or all items without a limit."""
        return self if limit is None else OpenedEvalSet(self.name, self.items[:limit])


def evalset_paths(settings: Settings) -> dict[str, Path]:
    """The named eval sets and their files. Shipped names take precedence over those of the user."""
    own = {path.stem: path for path in sorted(settings.evalsets_dir.glob(f"*{_ENDING}"))}
    return own | {name: shipped_evalset_path(name) for name in shipped_evalset_names()}


def named_evalset(settings: Settings, name: str) -> OpenedEvalSet:
    """The eval set of this name. It never accepts a path, so it is safe for HTTP requests.

    Raises:
        NotFoundError: There is no eval set of this name.
        DataError: A line is invalid, or an id is repeated.
    """
    paths = evalset_paths(settings)
    if name not in paths:
        raise NotFoundError(f"There is no eval set {name!r}.", next_step=did_you_mean(name, paths))
    return OpenedEvalSet(name, load_evalset(paths[name]))


def open_evalset(settings: Settings, reference: str) -> OpenedEvalSet:
    """The eval set of this name or path, for the command line.

    Example:
        "eval_v2", "training/evalsets/eval_v2.jsonl" -> the same items, both named "eval_v2"

    Raises:
        NotFoundError: There is no such name or file.
        DataError: A line is invalid, or an id is repeated.
    """
    looks_like_path = "/" in reference or reference.endswith(_ENDING)
    if looks_like_path and reference not in evalset_paths(settings):
        return OpenedEvalSet(Path(reference).stem, load_evalset(Path(reference)))
    return named_evalset(settings, reference)
