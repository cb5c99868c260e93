"""The evaluation directory.

evaluations/<id>/request.json        what is being evaluated; a resume must match it
evaluations/<id>/items.jsonl         the eval items, in order
evaluations/<id>/generations.jsonl   appended batch by batch: the resume point
evaluations/<id>/batches.jsonl       where and how fast each batch was generated
evaluations/<id>/predictions.jsonl   the items with completions and verdicts, in order
evaluations/<id>/evaluation.json     last: with it the directory is complete
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from tunix_rt.base.errors import DataError
from tunix_rt.base.files.atomic import storage_errors, write_atomically, write_json_atomically
from tunix_rt.base.files.jsonl import JsonLines
from tunix_rt.base.files.locks import held_directory
from tunix_rt.datasets.types import EvalItem, item_json
from tunix_rt.evaluation.types import Evaluation, EvaluationStart, FinishedBatch, Generation, Prediction

EVALUATION_FILE = "evaluation.json"
PREDICTIONS_FILE = "predictions.jsonl"
GenerationKey = tuple[str, int]
"""Item and sample."""

R = TypeVar("R", bound=BaseModel)


class EvaluationDir:
    """The files of one evaluation."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.request = path / "request.json"
        self.items = path / "items.jsonl"
        self.generations = path / "generations.jsonl"
        self.batches = path / "batches.jsonl"
        self.predictions = path / PREDICTIONS_FILE
        self.evaluation = path / EVALUATION_FILE

    def held(self) -> AbstractContextManager[None]:
        """Create the directory and lock it against other processes.

        Raises:
            ConflictError: Another process holds the lock.
        """
        return held_directory(self.path, "evaluation")

    def is_empty(self) -> bool:
        """Whether there are no files besides temporary ones of a killed process."""
        return not self.path.exists() or all(path.name.startswith(".") for path in self.path.iterdir())

    def begin(self, start: EvaluationStart, items: Iterable[EvalItem]) -> None:
        """Write the request and the items, unless they exist."""
        if not self.request.is_file():
            write_json_atomically(self.request, start.to_json(), what="writing the request")
        if not self.items.is_file():
            _write_lines(self.items, map(item_json, items))

    def read_start(self) -> EvaluationStart | None:
        """The request; None if there is none."""
        path = self.request
        return _parse(path, EvaluationStart, path.read_bytes()) if path.is_file() else None

    def read_items(self) -> tuple[EvalItem, ...]:
        """The items, in order."""
        return tuple(_read_lines(self.items, EvalItem))

    def read_generations(self) -> dict[GenerationKey, Generation]:
        """All completions so far, by item and sample."""
        return {(line.item_id, line.sample): line for line in _read_lines(self.generations, Generation)}

    def read_batches(self) -> list[FinishedBatch]:
        """The batches so far."""
        return list(_read_lines(self.batches, FinishedBatch))

    def read_predictions(self) -> Iterator[Prediction]:
        """The predictions of a complete directory, in order."""
        return _read_lines(self.predictions, Prediction)

    def read_evaluation(self) -> Evaluation | None:
        """The record; None while the directory is incomplete."""
        path = self.evaluation
        return _parse(path, Evaluation, path.read_bytes()) if path.is_file() else None

    def write_generations(self, generations: Iterable[Generation]) -> None:
        """Write existing completions, atomically."""
        _write_lines(self.generations, map(_line, generations))

    def write_predictions(self, predictions: Iterable[Prediction]) -> str:
        """Write the predictions atomically; returns their SHA-256."""
        return _write_lines(self.predictions, map(_line, predictions))

    def finish(self, evaluation: Evaluation) -> None:
        """Write the record."""
        # Written last: a directory with a record is complete, whatever crashed before.
        write_json_atomically(self.evaluation, evaluation.to_json(), what="writing the evaluation")

    @contextmanager
    def writing(self) -> Iterator[Callable[[Iterable[Generation], FinishedBatch], None]]:
        """Append finished batches with the yielded function; an added batch survives a crash of the process.

        A line that a killed process left incomplete is dropped first.
        """
        for path in (self.generations, self.batches):
            if path.exists():
                with storage_errors(f"opening {path.name}"):
                    os.truncate(path, path.read_bytes().rfind(b"\n") + 1)

        with closing(JsonLines(self.batches)) as batches, closing(JsonLines(self.generations)) as generations:

            def add(finished: Iterable[Generation], batch: FinishedBatch) -> None:
                for generation in finished:
                    generations.append(generation.to_json())
                batches.append(batch.to_json())
                generations.sync()

            yield add


def _line(record: Generation | Prediction) -> str:
    return json.dumps(record.to_json(), ensure_ascii=False, allow_nan=False)


def _write_lines(path: Path, lines: Iterable[str]) -> str:
    digest = hashlib.sha256()
    with write_atomically(path, what=f"writing {path.name}") as file:
        for line in lines:
            raw = f"{line}\n".encode()
            digest.update(raw)
            file.write(raw)
    return digest.hexdigest()


def _parse(path: Path, kind: type[R], raw: bytes, place: str = "") -> R:
    try:
        return kind.model_validate_json(raw)
    except ValidationError as error:
        raise DataError(
            f"{path} cannot be read: {place}{error.errors(include_url=False)[0]['msg']}.",
            next_step="Evaluate again with another --output; the files of an evaluation must not be edited.",
        ) from error


def _read_lines(path: Path, kind: type[R]) -> Iterator[R]:
    """Every complete line; one without a line end was cut off when its process was killed."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            if not raw.endswith(b"\n"):
                return
            yield _parse(path, kind, raw, f"line {number}: ")
