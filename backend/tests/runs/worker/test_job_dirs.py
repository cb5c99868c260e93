"""The files of a job directory."""

from pathlib import Path

from tunix_rt.runs.files import AttemptRecord, JobDir


def test_each_attempt_starts_new_line(tmp_path: Path) -> None:
    job_dir = JobDir(tmp_path / "jobs" / "run")
    for text in (b"whole line\n", b"torn by a kill", b"next attempt\n"):
        with job_dir.open_output() as output:
            output.write(text)
    assert job_dir.output.read_bytes() == b"whole line\ntorn by a kill\nnext attempt\n"


def test_binary_output_tail_is_text(tmp_path: Path) -> None:
    job_dir = JobDir(tmp_path)
    job_dir.output.write_bytes(b"\xff\x00" * 100_000 + b"the end")
    tail = job_dir.output_tail(num_bytes=100)
    assert len(tail) <= 100
    assert tail.endswith("the end")


def test_new_job_has_no_records(tmp_path: Path) -> None:
    job_dir = JobDir(tmp_path / "new")
    assert (job_dir.read_child(), job_dir.read_exit("a"), job_dir.read_attempt()) == (None, None, None)
    assert job_dir.output_tail() == ""


def test_exit_requires_matching_mark(tmp_path: Path) -> None:
    job_dir = JobDir(tmp_path)
    job_dir.exit.write_text('{"attempt": 1, "mark": "a", "code": 0}')
    assert job_dir.read_exit("b") is None
    exit_ = job_dir.read_exit("a")
    assert exit_ is not None
    assert exit_.code == 0


def test_torn_record_is_ignored(tmp_path: Path) -> None:
    job_dir = JobDir(tmp_path)
    job_dir.child.write_text('{"attempt": 1, "pi')
    assert job_dir.read_child() is None


def test_attempt_record_round_trips(tmp_path: Path) -> None:
    job_dir = JobDir(tmp_path / "run")
    job_dir.write_attempt(AttemptRecord(attempt=2, first_step=40))
    assert job_dir.read_attempt() == AttemptRecord(attempt=2, first_step=40)
