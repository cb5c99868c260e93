"""What a run writes down, over a resume."""

import json
from pathlib import Path

from tunix_rt.engines.training.records import Progress, RunRecords
from tunix_rt.engines.training.run_dir import RunDir


class Nobody:
    """A view that nobody looks at."""

    def show_line(self, text: str) -> None:
        """Nobody reads it."""

    def show_progress(self, progress: Progress, *, is_due: bool) -> None:
        """Nobody follows it."""


def test_a_resumed_run_remembers_the_most_memory_of_the_lines_that_it_keeps(tmp_path: Path) -> None:
    lines = [
        {"step": 1, "peak_memory_bytes": 700},
        {"step": 2, "peak_memory_bytes": 600},
        {"step": 2, "validation_loss": 1.5},
        {"step": 3, "peak_memory_bytes": 900},
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    records = RunRecords(RunDir(tmp_path), Nobody())

    records.begin(step=2)
    records.close()

    assert records.peak_before_bytes == 700
