"""Reading a live run: every message of every source arrives once and in order, from any cursor."""

import json
import random
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from support.jobs import wait_for
from support.live_runs import LiveRun, Viewer, read_all
from support.run_dirs import finished_run

from tunix_rt.base.errors import NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.runs.live import CHUNK_BYTES, Cursor, RunReader, RunWatch, parse_cursor
from tunix_rt.runs.store.repository import RunRepository

on_sqlite = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)


@pytest.fixture
def run(store: Home) -> LiveRun:
    return LiveRun(store)


@pytest.fixture
def watch(store: Home, run: LiveRun) -> Iterator[RunWatch]:
    with closing(RunWatch(store, run.run_id)) as opened:
        yield opened


def log_chunks(watch: RunWatch, cursor: Cursor | None = None) -> list[tuple[str, bool]]:
    payloads = [json.loads(message.data) for message in read_all(watch, cursor) if message.kind == "log"]
    return [(payload["chunk"], payload["is_partial"]) for payload in payloads]


def test_viewer_gets_sources_then_status(run: LiveRun, watch: RunWatch) -> None:
    run.event("started", "here we go")
    run.log_step(1)
    run.print("step 1\n")
    viewer, reader = Viewer(), RunReader(watch)
    watch.refresh()
    viewer.take_all(reader.read())
    assert reader.read() == []
    run.log_step(2)
    run.print("step 2\n")
    run.finish()
    assert watch.refresh()
    viewer.take_all(reader.read())
    assert viewer.status is None, "the status is sent last"
    viewer.take_all(reader.read())
    assert (viewer.status, reader.is_finished, reader.read()) == ("succeeded", True, [])
    assert viewer.log == "step 1\nstep 2\n"
    assert viewer.metrics == run.metrics()
    assert [event["message"] for event in viewer.events] == ["here we go"]
    assert [event["kind"] for event in viewer.service] == ["submitted", "claimed", "succeeded"]


def test_any_cursor_resumes_exactly(run: LiveRun, watch: RunWatch) -> None:
    for step in range(1, 6):
        run.event("checkpoint", f"{step}")
        run.log_step(step)
        run.print(f"line {step}\n" * 3)
        run.note(f"note {step}")
        watch.refresh()
    run.finish()
    watch.refresh()
    messages = read_all(watch)
    assert messages[-1].kind == "status"
    for index, message in enumerate(messages[:-1]):
        resumed = read_all(watch, parse_cursor(str(message.cursor)))
        for kind in ("service", "event", "metrics", "log"):
            missed = "".join(later.data for later in messages[index + 1 :] if later.kind == kind)
            assert "".join(later.data for later in resumed if later.kind == kind) == missed


@on_sqlite
def test_partial_line_waits_for_newline(run: LiveRun, watch: RunWatch) -> None:
    run.print("whole\nto")
    watch.refresh()
    assert log_chunks(watch) == [("whole\n", False)]
    run.print("rn\n")
    watch.refresh()
    assert log_chunks(watch) == [("whole\ntorn\n", False)]


@on_sqlite
def test_run_end_flushes_partial_line(run: LiveRun, watch: RunWatch) -> None:
    run.print("whole\nto")
    run.finish("failed")
    watch.refresh()
    assert log_chunks(watch) == [("whole\n", False), ("to", True)]
    assert log_chunks(watch, Cursor(log=8)) == []


@on_sqlite
def test_long_line_splits_between_characters(run: LiveRun, watch: RunWatch) -> None:
    line = "é€𝄞" * 50_000
    run.print(f"before\n{line}\nafter\n")
    watch.refresh()
    chunks = log_chunks(watch)
    assert "".join(chunk for chunk, _ in chunks) == f"before\n{line}\nafter\n"
    assert chunks[0] == ("before\n", False)
    assert [is_partial for _, is_partial in chunks] == [False] + [True] * (len(chunks) - 2) + [False]
    assert max(len(chunk.encode()) for chunk, _ in chunks) <= CHUNK_BYTES


@on_sqlite
def test_half_written_character_is_held_back(run: LiveRun, watch: RunWatch) -> None:
    run.print(b"x" * (CHUNK_BYTES - 1) + "€".encode()[:1])
    watch.refresh()
    assert log_chunks(watch) == [("x" * (CHUNK_BYTES - 1), True)]
    run.print("€".encode()[1:] + b"\n")
    watch.refresh()
    assert log_chunks(watch, Cursor(log=CHUNK_BYTES - 1)) == [("€\n", False)]


@on_sqlite
def test_invalid_utf8_is_replaced(run: LiveRun, watch: RunWatch) -> None:
    run.print(b"\xff\xfe\x00 binary\r\n\x80")
    run.finish()
    watch.refresh()
    assert log_chunks(watch) == [("\ufffd\ufffd\x00 binary\r\n", False), ("\ufffd", True)]


@on_sqlite
def test_cursor_past_end_reads_nothing(run: LiveRun, watch: RunWatch) -> None:
    run.print("one\n")
    watch.refresh()
    assert log_chunks(watch, Cursor(log=10**9)) == []


def test_resume_rewinds_connected_viewer(run: LiveRun, watch: RunWatch) -> None:
    viewer, reader = Viewer(), RunReader(watch)
    run.event("started")
    for step in range(1, 9):
        run.log_step(step)
    watch.refresh()
    viewer.take_all(reader.read())
    run.resume_after(5)
    run.event("resumed")
    run.log_step(6, loss=0.5)
    watch.refresh()
    viewer.take_all(reader.read())
    assert viewer.metrics == run.metrics()
    assert [line["step"] for line in viewer.metrics] == [1, 2, 3, 4, 5, 6]
    assert [event["kind"] for event in viewer.events] == ["started", "resumed"]
    assert viewer.kinds.count("rewind") == 1


def test_resume_rewinds_reconnecting_viewer(run: LiveRun, watch: RunWatch) -> None:
    viewer = Viewer()
    for step in range(1, 9):
        run.log_step(step)
    watch.refresh()
    viewer.take_all(read_all(watch))
    run.resume_after(5)
    for step in range(6, 12):
        run.log_step(step, loss=0.5)
    watch.refresh()
    viewer.take_all(read_all(watch, parse_cursor(viewer.last_id)))
    assert viewer.metrics == run.metrics()
    run.log_step(12)
    watch.refresh()
    viewer.take_all(read_all(watch, parse_cursor(viewer.last_id)))
    assert (viewer.metrics, viewer.kinds.count("rewind")) == (run.metrics(), 1)


@on_sqlite
@pytest.mark.parametrize("seed", range(5))
def test_viewer_always_matches_files(run: LiveRun, watch: RunWatch, seed: int) -> None:
    """Random sequences of writes, resumes, refreshes, reads and reconnects."""
    rng = random.Random(seed)
    viewer, reader, step, printed = Viewer(), RunReader(watch), 0, ""
    for _ in range(400):
        action = rng.choice(["step", "step", "print", "event", "resume", "refresh", "read", "reconnect"])
        if action == "step":
            step += 1
            run.log_step(step, loss=rng.random())
        elif action == "print":
            text = rng.choice(["line\n", "a ", "€\n", "x" * 70_000, "\n"])
            run.print(text)
            printed += text
        elif action == "event":
            run.event("warning", str(rng.random()))
        elif action == "resume":
            step = rng.randint(0, step)
            if run.run_dir.metrics.exists() and run.run_dir.events.exists():
                run.resume_after(step)
        elif action == "refresh":
            watch.refresh()
        elif action == "read":
            viewer.take_all(reader.read())
        else:
            reader = RunReader(watch, parse_cursor(viewer.last_id) if viewer.last_id else None)
    run.log_step(step + 1)
    run.finish()
    watch.refresh()
    while batch := reader.read():
        viewer.take_all(batch)
    assert viewer.metrics == run.metrics()
    assert viewer.log == printed
    sequences = [event["sequence"] for event in viewer.events]
    assert sequences == list(range(len(run.run_dir.events.read_text().splitlines())))


def test_unmanaged_run_is_read_from_directory(store: Home) -> None:
    run_dir = finished_run(store.settings.runs_dir / "by-hand")
    run_dir.log.write_text("step 1\ndone\n")
    with closing(RunWatch(store, "by-hand")) as watch:
        viewer = Viewer()
        viewer.take_all(read_all(watch))
    assert (viewer.log, viewer.status) == ("step 1\ndone\n", "succeeded")
    assert [event["kind"] for event in viewer.service] == ["imported"]


@on_sqlite
def test_unmanaged_run_status_follows_lock(store: Home) -> None:
    run_dir = finished_run(store.settings.runs_dir / "by-hand")
    run_dir.manifest.unlink()
    with run_dir.held():
        watch = RunWatch(store, "by-hand")
        assert (watch.status, watch.is_over) == ("running", False)
    with closing(watch):
        wait_for(lambda: watch.refresh() and watch.is_over)
    assert watch.status == "failed"


def test_unknown_run_cannot_be_watched(store: Home) -> None:
    with pytest.raises(NotFoundError, match="ghost"):
        RunWatch(store, "ghost")


def test_removed_run_ends_stream(runs: RunRepository, run: LiveRun, watch: RunWatch) -> None:
    run.print("one\n")
    watch.refresh()
    run.finish("failed")
    runs.remove(run.run_id)
    assert watch.refresh()
    assert [message.kind for message in read_all(watch)][-2:] == ["log", "status"]


@pytest.mark.parametrize("settings", ["postgresql"], indirect=True)
def test_files_are_followed_without_database(run: LiveRun, watch: RunWatch, settings: Settings) -> None:
    assert settings.database_url is not None
    server, _, name = settings.database_url.rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
    run.print("still here\n")
    assert watch.refresh()
    assert log_chunks(watch) == [("still here\n", False)]
    assert not watch.is_over
