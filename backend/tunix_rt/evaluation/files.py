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
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from tunix_rt.base.errors import DataError
from tunix_rt.base.files.atomic import storage_errors, write_atomically, write_json_atomically
from tunix_rt.base.files.jsonl import JsonLines
from tunix_rt.base.files.locks import held_directory, remove_if_unused
from tunix_rt.datasets.types import EvalItem, item_json
from tunix_rt.evaluation.types import Evaluation, EvaluationStart, FinishedBatch, Generation, Prediction

EVALUATION_FILE = "evaluation.json"
PREDICTIONS_FILE = "predictions.jsonl"
GenerationKey = tuple[str, int]
"""Item and sample."""

R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True)
class EvaluationDir:
    """The files of one evaluation."""

    path: Path

    @property
    def request(self) -> Path:
        """The request: model and protocol."""
        return self.path / "request.json"

    @property
    def items(self) -> Path:
        """The eval items."""
        return self.path / "items.jsonl"

    @property
    def generations(self) -> Path:
        """The completions."""
        return self.path / "generations.jsonl"

    @property
    def batches(self) -> Path:
        """Engine, device and speed of every batch."""
        return self.path / "batches.jsonl"

    @property
    def predictions(self) -> Path:
        """The judged completions."""
        return self.path / PREDICTIONS_FILE

    @property
    def evaluation(self) -> Path:
        """The record, written last."""
        return self.path / EVALUATION_FILE

    @contextmanager
    def held(self) -> Iterator[None]:
        """Create the directory and lock it against other processes.

        Raises:
            ConflictError: Another process holds the lock.
        """
        with held_directory(self.path, "evaluation"):
            yield

    def is_empty(self) -> bool:
        """Whether there are no files besides temporary ones of a killed process."""
        return not self.path.exists() or all(path.name.startswith(".") for path in self.path.iterdir())

    def remove_if_unused(self) -> None:
        """Remove the directory of an evaluation that never started."""
        remove_if_unused(self.path)

    def begin(self, start: EvaluationStart, items: Iterable[EvalItem]) -> None:
        """Write the request and the items, unless they exist."""
        if not self.request.is_file():
            write_json_atomically(self.request, start.to_json(), what="writing the request")
        if not self.items.is_file():
            _write_lines(self.items, map(item_json, items))

    def read_start(self) -> EvaluationStart | None:
        """The request; None if there is none."""
        return _read(self.request, EvaluationStart) if self.request.is_file() else None

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
        return _read(self.evaluation, Evaluation) if self.evaluation.is_file() else None

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
    def writing(self) -> Iterator["GenerationWriter"]:
        """Append batches. A line that a killed process left incomplete is dropped first."""
        for path in (self.generations, self.batches):
            _drop_torn_line(path)
        writer = GenerationWriter(JsonLines(self.generations), JsonLines(self.batches))
        try:
            yield writer
        finally:
            writer.close()


@dataclass(frozen=True)
class GenerationWriter:
    """Appends finished batches; an added batch survives a crash of the process."""

    _generations: JsonLines
    _batches: JsonLines

    def add(self, generations: Iterable[Generation], batch: FinishedBatch) -> None:
        """Append a batch."""
        for generation in generations:
            self._generations.append(generation.to_json())
        self._batches.append(batch.to_json())
        self._generations.sync()

    def close(self) -> None:
        """Close the files."""
        try:
            self._generations.close()
        finally:
            self._batches.close()


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


def _read(path: Path, kind: type[R]) -> R:
    try:
        return kind.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise _damaged(path, str(error.errors(include_url=False)[0]["msg"])) from error


def _read_lines(path: Path, kind: type[R]) -> Iterator[R]:
    """Every complete line; one without a line end was cut off when its process was killed."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            if not raw.endswith(b"\n"):
                return
            try:
                yield kind.model_validate_json(raw)
            except ValidationError as error:
                message = str(error.errors(include_url=False)[0]["msg"])
                raise _damaged(path, f"line {number}: {message}") from error


def _drop_torn_line(path: Path) -> None:
    if not path.exists():
        return
    with storage_errors(f"opening {path.name}"):
        content = path.read_bytes()
        os.truncate(path, content.rfind(b"\n") + 1)


def _damaged(path: Path, problem: str) -> DataError:
    return DataError(
        f"{path} cannot be read: {problem}.",
        next_step="Evaluate again with another --output; the files of an evaluation must not be edited.",
    )
