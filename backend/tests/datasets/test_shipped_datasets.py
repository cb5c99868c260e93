from pathlib import Path

import pytest

from tunix_rt.base.assets import shipped_dataset_names, shipped_traces
from tunix_rt.base.errors import DataError, NotFoundError
from tunix_rt.datasets.service import get_dataset, iter_rows, verify_dataset
from tunix_rt.datasets.types import EvalItem, item_json
from tunix_rt.traces.types import Trace


@pytest.mark.parametrize("key", shipped_dataset_names())
def test_shipped_dataset_opens_by_key(tmp_path: Path, key: str) -> None:
    manifest = get_dataset(tmp_path / "datasets", key)
    assert manifest.num_rows == len(list(shipped_traces(key)))
    assert manifest.contamination.verdict == "clean"
    assert verify_dataset(tmp_path / "datasets", key).intact


def test_shipped_traces_become_rows(tmp_path: Path) -> None:
    rows = {row.canonical for row in iter_rows(tmp_path / "datasets", "dev-reasoning-v2")}
    assert rows == set(shipped_traces("dev-reasoning-v2"))


def test_unknown_key_builds_nothing(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        get_dataset(tmp_path / "datasets", "dev-reasoning-v3")
    assert not (tmp_path / "datasets").exists()


def test_contaminated_shipped_dataset_is_refused(tmp_path: Path) -> None:
    trace = Trace.model_validate_json(next(shipped_traces("dev-reasoning-v2")))
    item = EvalItem(
        id="mine-1",
        prompt=trace.prompt,
        expected_answer=trace.final_answer,
        section="core",
        category="arithmetic",
        difficulty="easy",
    )
    (tmp_path / "evalsets").mkdir()
    (tmp_path / "evalsets" / "mine.jsonl").write_text(item_json(item) + "\n")
    with pytest.raises(DataError, match="mine"):
        get_dataset(tmp_path / "datasets", "dev-reasoning-v2")
