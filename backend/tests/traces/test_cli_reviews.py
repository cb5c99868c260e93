"""`tunix-rt traces review` and `export-reviews`."""

import json
from pathlib import Path

from support.builders import make_trace
from typer.testing import CliRunner

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.home import open_home
from tunix_rt.base.settings import load_settings
from tunix_rt.cli.main import app
from tunix_rt.traces.service import add_trace
from tunix_rt.traces.store import TraceRepository


def store_wrong_trace() -> str:
    store = open_home(load_settings())
    trace_id = str(add_trace(TraceRepository(store.database), make_trace(steps=["2 + 3 = 6", "Done."])).id)
    store.close()
    return trace_id


def test_review_exports_as_preference(tmp_path: Path) -> None:
    trace_id, run = store_wrong_trace(), CliRunner().invoke
    edits = ["--edit", "0=2 + 3 = 5", "--accept", "1"]
    receipt = json.loads(run(app, ["traces", "review", trace_id, *edits, "--json"]).output)
    assert receipt["revision_of"] == trace_id
    output = tmp_path / "pairs.jsonl"
    result = run(app, ["traces", "export-reviews", "preferences", "--output", str(output)])
    assert "Wrote 1 line to" in result.output
    assert json.loads(output.read_text())["chosen_id"] == receipt["id"]


def test_malformed_edit_explains_syntax() -> None:
    result = CliRunner().invoke(app, ["traces", "review", store_wrong_trace(), "--edit", "zero"])
    assert isinstance(result.exception, InvalidInputError)
    assert "STEP=TEXT" in result.exception.detail
