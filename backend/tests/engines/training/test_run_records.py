"""Run records across a resume."""

import json
from pathlib import Path

from tunix_rt.engines.training.records import Progress, RunRecords
from tunix_rt.engines.training.run_dir import RunDir


class NullView:
    """Shows nothing."""

    def show_line(self, text: str) -> None:
        """Discard the line."""

    def show_progress(self, progress: Progress, *, is_due: bool) -> None:
        """Discard the progress."""


def test_resume_restores_peak_memory(tmp_path: Path) -> None:
    """Lines after the resumed step do not count."""
    lines = [
        {"step": 1, "peak_memory_bytes": 700},
        {"step": 2, "peak_memory_bytes": 600},
        {"step": 2, "validation_loss": 1.5},
        {"step": 3, "peak_memory_bytes": 900},
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    records = RunRecords(RunDir(tmp_path), NullView())

    records.begin(step=2)
    records.close()

    assert records.peak_before_bytes == 700
