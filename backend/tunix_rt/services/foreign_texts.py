"""Files of texts that something else wrote: one JSON object a line, an item's id and a text."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tunix_rt.base.errors import DataError, NotFoundError, first_problems
from tunix_rt.base.files.jsonl import BadRow, BlankLine, read_jsonl
from tunix_rt.core.evaluation.prediction import Generation

ID_KEYS = ("item_id", "id", "trace_id")
TEXT_KEYS = ("text", "prediction")


def read_foreign_texts(path: Path) -> list[Generation]:
    """The texts of a file, in its order. What else a line says is not needed.

    Example:
        {"id": "sum-1", "prediction": "<answer>8</answer>"}

    Raises:
        NotFoundError: There is no such file.
        DataError: names every line without an id or a text, or whose id came before.
    """
    if not path.is_file():
        raise NotFoundError(f"There is no file {path}.", next_step="Check the path after --predictions.")
    texts: dict[str, Generation] = {}
    problems: list[str] = []
    with path.open("rb") as file:
        for row in read_jsonl(file):
            if isinstance(row, BlankLine):
                continue
            found = row.reason if isinstance(row, BadRow) else _read(row.values)
            if isinstance(found, Generation) and found.item_id in texts:
                found = f"a second text for {found.item_id!r}"
            if isinstance(found, str):
                problems.append(f"line {row.number}: {found}")
            else:
                texts[found.item_id] = found
    if problems:
        raise DataError(
            f"{path.name} cannot be scored: {first_problems(problems)}.",
            next_step='Write one line an item: {"id": "…", "prediction": "…"}.',
        )
    return list(texts.values())


def _read(values: Mapping[str, Any]) -> Generation | str:
    """The text of a line, or what is wrong with the line."""
    item_id = next((values[key] for key in ID_KEYS if key in values), None)
    text = next((values[key] for key in TEXT_KEYS if key in values), None)
    if not isinstance(item_id, str) or not item_id:
        return f"no item: one of {', '.join(ID_KEYS)} must be a text"
    if not isinstance(text, str):
        return f"no text: one of {', '.join(TEXT_KEYS)} must be a text"
    # Nothing says how it ended; a text from elsewhere is taken to be whole.
    return Generation(item_id=item_id, text=text, finish="end-of-turn")
