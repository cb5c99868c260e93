"""Replies of judges, kept by the content of what was asked: asking again costs nothing.

judge_cache/<first two letters>/<SHA-256 of judge, rubric and messages>.json
"""

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from tunix_rt.base.files.atomic import write_json_atomically
from tunix_rt.core.evaluation.rubric import PaidGrade


@dataclass(frozen=True)
class JudgeCache:
    """A directory of paid replies; threads and processes may share it, because every file appears whole."""

    directory: Path

    def get(self, key: str) -> PaidGrade | None:
        """The reply to this question; None when it was never asked, or its file is damaged."""
        try:
            return PaidGrade.model_validate_json(self._path(key).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def put(self, key: str, grade: PaidGrade) -> None:
        """Keep a reply."""
        write_json_atomically(self._path(key), grade.to_json(), what="keeping a judge's reply")

    def _path(self, key: str) -> Path:
        return self.directory / key[:2] / f"{key}.json"
