"""The evaluation directory.

evaluations/<id>/request.json        what is being evaluated; a resume must match it
evaluations/<id>/items.jsonl         the items that are asked, in order
evaluations/<id>/generations.jsonl   appended batch by batch: the resume point
evaluations/<id>/batches.jsonl       where and how fast each batch was written
evaluations/<id>/predictions.jsonl   the items with texts and verdicts, in order
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
        """What was asked."""
        return self.path / "request.json"

    @property
    def items(self) -> Path:
        """The eval items."""
        return self.path / "items.jsonl"

    @property
    def generations(self) -> Path:
        """What the model wrote."""
        return self.path / "generations.jsonl"

    @property
    def batches(self) -> Path:
        """How it wrote it."""
        return self.path / "batches.jsonl"

    @property
    def predictions(self) -> Path:
        """What was made of it."""
        return self.path / PREDICTIONS_FILE

    @property
    def evaluation(self) -> Path:
        """The record, written last."""
        return self.path / EVALUATION_FILE

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make the directory and keep every other process from writing an evaluation into it.

        Raises:
            ConflictError: Another process has it.
        """
        with held_directory(self.path, "evaluation"):
            yield

    def is_empty(self) -> bool:
        """Whether nothing is there but what a process leaves that was killed before it began."""
        return not self.path.exists() or all(path.name.startswith(".") for path in self.path.iterdir())

    def remove_if_unused(self) -> None:
        """Leave no trace of an evaluation that never began."""
        remove_if_unused(self.path)

    def begin(self, start: EvaluationStart, items: Iterable[EvalItem]) -> None:
        """Write what is asked, where it is not written yet."""
        if not self.request.is_file():
            write_json_atomically(self.request, start.to_json(), what="writing the request")
        if not self.items.is_file():
            _write_lines(self.items, map(item_json, items))

    def read_start(self) -> EvaluationStart | None:
        """What was asked; None when nothing was."""
        return _read(self.request, EvaluationStart) if self.request.is_file() else None

    def read_items(self) -> tuple[EvalItem, ...]:
        """The items, in order."""
        return tuple(_read_lines(self.items, EvalItem))

    def read_generations(self) -> dict[GenerationKey, Generation]:
        """Everything that is written so far, by item and sample."""
        return {(line.item_id, line.sample): line for line in _read_lines(self.generations, Generation)}

    def read_batches(self) -> list[FinishedBatch]:
        """The batches so far."""
        return list(_read_lines(self.batches, FinishedBatch))

    def read_predictions(self) -> Iterator[Prediction]:
        """The predictions of a complete directory, in order."""
        return _read_lines(self.predictions, Prediction)

    def read_evaluation(self) -> Evaluation | None:
        """The record; None while the directory is not complete."""
        return _read(self.evaluation, Evaluation) if self.evaluation.is_file() else None

    def write_generations(self, generations: Iterable[Generation]) -> None:
        """Write texts that exist already, whole or not at all."""
        _write_lines(self.generations, map(_line, generations))

    def write_predictions(self, predictions: Iterable[Prediction]) -> str:
        """Write them whole or not at all; their SHA-256."""
        return _write_lines(self.predictions, map(_line, predictions))

    def finish(self, evaluation: Evaluation) -> None:
        """Write the record."""
        # Written last: a directory with a record is complete, whatever crashed before.
        write_json_atomically(self.evaluation, evaluation.to_json(), what="writing the evaluation")

    @contextmanager
    def writing(self) -> Iterator["GenerationWriter"]:
        """Append generations, after those that are there; a line that a killed process tore is dropped."""
        for path in (self.generations, self.batches):
            _drop_torn_line(path)
        writer = GenerationWriter(JsonLines(self.generations), JsonLines(self.batches))
        try:
            yield writer
        finally:
            writer.close()


@dataclass(frozen=True)
class GenerationWriter:
    """Appends finished batches; what was added survives the end of the process, however sudden."""

    _generations: JsonLines
    _batches: JsonLines

    def add(self, generations: Iterable[Generation], batch: FinishedBatch) -> None:
        """Append a batch."""
        for generation in generations:
            self._generations.append(generation.to_json())
        self._batches.append(batch.to_json())
        self._generations.sync()

    def close(self) -> None:
        """No more batches."""
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
    """Every whole line; one without its line end was torn when its process was killed."""
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
        next_step="Evaluate again into another --output; files of an evaluation are not edited by hand.",
    )
