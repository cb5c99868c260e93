"""Import and export of files with a real store."""

import gzip
import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from support.builders import make_trace

from tunix_rt.base.errors import DataError, InvalidInputError
from tunix_rt.base.home import open_home
from tunix_rt.base.settings import Settings
from tunix_rt.traces.export import export_file, export_lines
from tunix_rt.traces.formats.export import EXPORT_FORMATS
from tunix_rt.traces.import_rows import PARALLEL_FROM_BYTES, ImportProgress
from tunix_rt.traces.importer import (
    ImportOptions,
    ImportReport,
    RejectedRowsError,
    import_options,
    import_traces,
)
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import PreparedTrace, StoredTrace, Trace, TraceFilter, canonical_json

INVALID_ROW = {"prompt": "no answer", "steps": [{"i": 0, "content": "a"}]}


def stored_items(repository: TraceRepository) -> list[StoredTrace]:
    return list(repository.iter_selected(TraceFilter()))


def stored_traces(repository: TraceRepository) -> list[Trace]:
    return [item.trace() for item in stored_items(repository)]


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def trace_rows(num_rows: int, **meta: Any) -> list[dict[str, Any]]:
    return [make_trace(f"What is {n} + 3?", **meta).model_dump() for n in range(num_rows)]


def counts(report: ImportReport) -> tuple[int, int, int, int]:
    return report.num_read, report.num_imported, report.num_present, report.num_rejected


def test_import_is_idempotent(repository: TraceRepository, tmp_path: Path) -> None:
    file = write_rows(tmp_path / "sums.jsonl", trace_rows(5))
    assert counts(import_traces(repository, file)) == (5, 5, 0, 0)
    assert counts(import_traces(repository, file)) == (5, 0, 5, 0)
    assert len(stored_items(repository)) == 5


def test_invalid_row_rejects_whole_file(repository: TraceRepository, tmp_path: Path) -> None:
    file = write_rows(tmp_path / "sums.jsonl", [*trace_rows(5_000), INVALID_ROW])
    with pytest.raises(RejectedRowsError, match="line 5001: final_answer") as caught:
        import_traces(repository, file)
    assert caught.value.exit_code == 3
    assert "--skip-invalid" in caught.value.next_step
    assert stored_items(repository) == []


def test_skip_invalid_imports_valid_rows(repository: TraceRepository, tmp_path: Path) -> None:
    file = write_rows(tmp_path / "sums.jsonl", [*trace_rows(5), INVALID_ROW])
    report = import_traces(repository, file, ImportOptions(skip_invalid=True))
    assert counts(report) == (6, 5, 0, 1)
    assert report.first_rejections[0].line == 6


def test_rejects_file_has_lines_and_reasons(repository: TraceRepository, tmp_path: Path) -> None:
    file = write_rows(tmp_path / "sums.jsonl", [INVALID_ROW] * 25)
    with file.open("ab") as more:
        more.write(b"\n{\xff\n")
    options = ImportOptions(rejects_path=tmp_path / "rejects.jsonl", row_format="trace")
    with pytest.raises(RejectedRowsError, match="and 16 more"):
        import_traces(repository, file, options)
    rejects = [json.loads(line) for line in (tmp_path / "rejects.jsonl").read_text().splitlines()]
    assert [reject["line"] for reject in rejects] == [*range(1, 26), 27]
    assert rejects[0]["row"] == INVALID_ROW
    assert rejects[-1]["row"] == "{\\xff"
    assert "not UTF-8" in rejects[-1]["reason"]


def test_rejects_cannot_overwrite_input(repository: TraceRepository, tmp_path: Path) -> None:
    file = write_rows(tmp_path / "sums.jsonl", trace_rows(1))
    with pytest.raises(InvalidInputError, match="rejected rows"):
        import_traces(repository, file, ImportOptions(rejects_path=file))


def test_source_defaults_to_file_name(repository: TraceRepository, tmp_path: Path) -> None:
    rows = [make_trace("a").model_dump(), make_trace("b", source="books").model_dump()]
    file = write_rows(tmp_path / "sums.v1.jsonl", rows)
    import_traces(repository, file)
    assert {trace.prompt: trace.meta["source"] for trace in stored_traces(repository)} == {
        "a": "sums",
        "b": "books",
    }
    import_traces(repository, file, ImportOptions(source="mine"))
    assert [trace.meta["source"] for trace in stored_traces(repository)].count("mine") == 2


def test_answer_rules_are_counted(repository: TraceRepository, tmp_path: Path) -> None:
    texts = ["a\n#### 1", "a\n1", "b\n2"]
    rows = [{"prompt": f"{i}?", "completion": text} for i, text in enumerate(texts)]
    report = import_traces(repository, write_rows(tmp_path / "pairs.jsonl", rows))
    assert report.answer_rules == {"hash": 1, "last_line": 2}
    assert "2 rows have no answer marker" in report.notes[0]
    assert "--require-marker" in report.notes[0]


def test_first_readable_row_determines_format(repository: TraceRepository, tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text('not JSON\n{"prompt": "6*7?", "completion": "6*7=42\\n#### 42"}\n')
    report = import_traces(repository, file, ImportOptions(skip_invalid=True))
    assert (report.row_format, report.num_imported, report.num_rejected) == ("prompt_completion", 1, 1)


def test_upload_name_determines_file_type(repository: TraceRepository, tmp_path: Path) -> None:
    file = tmp_path / "spooled"
    file.write_text("prompt,completion\n6*7?,42\n")
    report = import_traces(repository, file, name="table.csv")
    assert (report.file, report.num_imported) == ("table.csv", 1)
    assert stored_traces(repository)[0].meta["source"] == "table"


class BatchSizeRecorder(list[int]):
    """A store that records only the number of traces in each transaction."""

    def add_prepared(self, entries: Sequence[PreparedTrace]) -> set[UUID]:
        self.append(len(entries))
        return {UUID(hex=entry.id_hex) for entry in entries}


def test_huge_traces_use_smaller_transactions(tmp_path: Path) -> None:
    steps = [{"i": i, "content": "x" * 20_000} for i in range(900)]
    huge = ({"prompt": f"{n}?", "steps": steps, "final_answer": "x"} for n in range(2))
    recorder = BatchSizeRecorder()
    import_traces(recorder, write_rows(tmp_path / "huge.jsonl", [*huge, *trace_rows(1)]))
    assert recorder == [2, 1]


def test_csv_import_with_column_map(repository: TraceRepository, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text('Question,Solution,Topic\n"6*7?","6*7=42\n#### 42",tables\n', encoding="utf-8-sig")
    column_map = {"prompt": "Question", "completion": "Solution", "meta.category": "Topic"}
    import_traces(repository, file, ImportOptions(column_map=column_map))
    (trace,) = stored_traces(repository)
    assert (trace.prompt, trace.steps[0].content, trace.final_answer) == ("6*7?", "6*7=42", "42")
    assert trace.meta == {"category": "tables", "source": "table", "answer_rule": "hash"}


def test_missing_column_suggests_nearest(repository: TraceRepository, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("question,answer\na,b\n")
    with pytest.raises(InvalidInputError, match="Did you mean 'question'"):
        import_traces(
            repository,
            file,
            ImportOptions(column_map={"prompt": "qestion", "completion": "answer"}),
        )


@pytest.mark.parametrize("export_format", EXPORT_FORMATS)
@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.parquet"])
def test_exports_can_be_reimported(
    repository: TraceRepository, tmp_path: Path, export_format: str, name: str
) -> None:
    import_traces(
        repository,
        write_rows(tmp_path / "in.jsonl", trace_rows(3, tags=["x"], source="books")),
    )
    report = export_file(stored_items(repository), tmp_path / name, export_format)
    assert report.num_exported == 3
    again = import_traces(repository, tmp_path / name)
    assert again.row_format == export_format
    assert again.num_rejected == 0
    if export_format in ("trace", "tunix_sft", "training_example"):
        assert again.num_present == 3
    prompts = [trace.prompt for trace in stored_traces(repository)]
    assert len(set(prompts)) == 3


def test_compressed_export_is_deterministic(repository: TraceRepository, tmp_path: Path) -> None:
    import_traces(repository, write_rows(tmp_path / "in.jsonl", trace_rows(3)))
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        export_file(stored_items(repository), tmp_path / name, "messages")
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    assert len(gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()).splitlines()) == 3


def test_failed_export_leaves_no_file(repository: TraceRepository, tmp_path: Path) -> None:
    trace = make_trace("a", ["hold </answer> it"])
    repository.add_many([(trace, canonical_json(trace))])
    (item,) = stored_items(repository)
    with pytest.raises(DataError, match=str(item.id)):
        export_file(stored_items(repository), tmp_path / "out.jsonl", "messages")
    assert list(tmp_path.glob("*out*")) == []
    assert list(export_lines(stored_items(repository), "trace")) == [item.canonical]


def test_empty_or_unrecognized_file_is_rejected(repository: TraceRepository, tmp_path: Path) -> None:
    file = tmp_path / "empty.jsonl"
    file.write_text("\n\n")
    with pytest.raises(DataError, match="no rows"):
        import_traces(repository, file)
    write_rows(file, [{"foo": 1}])
    with pytest.raises(InvalidInputError, match=r"'foo'.*--map prompt=COLUMN"):
        import_traces(repository, file)
    with pytest.raises(InvalidInputError, match="Did you mean 'alpaca'"):
        import_traces(repository, file, ImportOptions(row_format="alpacca"))


@pytest.mark.parametrize("options", [{"file_type": "xlsx"}, {"source": ""}, {"source": "a\x00"}])
def test_invalid_options_are_rejected(options: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        import_options(**options)


def test_progress_reports_phases_and_rows(repository: TraceRepository, tmp_path: Path) -> None:
    seen: list[ImportProgress] = []
    import_traces(
        repository,
        write_rows(tmp_path / "sums.jsonl", trace_rows(3_000)),
        on_progress=seen.append,
    )
    assert [progress.phase for progress in seen] == ["checking"] * 6 + ["importing"] * 6
    assert [progress.num_rows for progress in seen] == [500, 1_000, 1_500, 2_000, 2_500, 3_000] * 2
    assert all(0 < progress.fraction <= 1 for progress in seen)


def test_parallel_import_matches_sequential(tmp_path: Path) -> None:
    text = "".join(json.dumps(row) + "\n" for row in trace_rows(400))
    bad = "not JSON\n\n" + json.dumps({"prompt": "only"}) + "\n"
    small, large = tmp_path / "sums.jsonl", tmp_path / "large" / "sums.jsonl"
    large.parent.mkdir()
    small.write_text(text + bad + text)
    padding = (" " * 999 + "\n") * (PARALLEL_FROM_BYTES // 1000 + 1)  # blank lines add size, not rows
    large.write_text(text + bad + text + padding)
    outcomes = [import_and_collect(tmp_path / str(n), file) for n, file in enumerate((small, large))]
    assert outcomes[0] == outcomes[1]


def import_and_collect(home: Path, file: Path) -> tuple[list[str], list[str], str]:
    store = open_home(Settings(home=home))
    rejects = home / "rejects.jsonl"
    options = ImportOptions(skip_invalid=True, rejects_path=rejects, source="sums")
    repository = TraceRepository(store.database)
    report = import_traces(repository, file, options, name="sums.jsonl")
    stored = sorted(item.canonical for item in stored_items(repository))
    store.close()
    excluded = {"seconds", "rows_per_s", "num_blank_lines"}
    return stored, rejects.read_text().splitlines(), report.model_dump_json(exclude=excluded)


IMPORT_AND_WAIT = """
import sys, time
from pathlib import Path
from tunix_rt.base.settings import Settings
from tunix_rt.traces.store import TraceRepository
from tunix_rt.base.home import open_home
from tunix_rt.traces.importer import import_traces

def wait_at_5000(progress):
    if progress.phase == "importing" and progress.num_rows == 5_000:
        print("waiting", flush=True)
        time.sleep(60)

store = open_home(Settings(home=Path(sys.argv[1]), database_url=sys.argv[2]))
import_traces(TraceRepository(store.database), sys.argv[3], on_progress=wait_at_5000)
"""


def test_rerun_completes_killed_import(
    repository: TraceRepository, settings: Settings, tmp_path: Path
) -> None:
    file = write_rows(tmp_path / "sums.jsonl", trace_rows(6_000))
    arguments = [str(settings.home_dir), settings.resolved_database_url, str(file)]
    child = subprocess.Popen(
        [sys.executable, "-c", IMPORT_AND_WAIT, *arguments], stdout=subprocess.PIPE, text=True
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "waiting\n"
        child.send_signal(signal.SIGKILL)
    assert counts(import_traces(repository, file)) == (6_000, 2_000, 4_000, 0)
    assert len(stored_items(repository)) == 6_000


def run_cli(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "tunix_rt.cli", "traces", *arguments], input=stdin, capture_output=True
    )


def test_cli_imports_pipe_and_exports() -> None:
    lines = "".join(f"{json.dumps(row)}\n" for row in trace_rows(3, source="books"))
    imported = run_cli("import", "-", "--json", stdin=lines.encode())
    assert (imported.returncode, imported.stderr) == (0, b"")
    assert json.loads(imported.stdout)["num_imported"] == 3
    exported = run_cli("export", "--format", "trace")
    assert sorted(json.loads(line)["prompt"] for line in exported.stdout.splitlines()) == [
        row["prompt"] for row in trace_rows(3)
    ]


def test_cli_exits_3_on_invalid_rows(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "sums.jsonl", [*trace_rows(1), INVALID_ROW])
    refused = run_cli("import", str(file))
    assert refused.returncode == 3
    assert refused.stdout == b""
    assert b"line 2: final_answer" in refused.stderr
    assert b"--skip-invalid" in refused.stderr
    assert b"Traceback" not in refused.stderr
