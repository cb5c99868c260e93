"""Import a file and build a dataset from it; build shipped datasets on first use."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.assets import shipped_dataset_names, shipped_dataset_path, shipped_traces
from tunix_rt.base.files.readers import source_name
from tunix_rt.base.home import Home
from tunix_rt.base.settings import EVALSETS
from tunix_rt.datasets.build import Progress, build_dataset, build_from_store
from tunix_rt.datasets.contamination import load_evalsets
from tunix_rt.datasets.files import dataset_exists
from tunix_rt.datasets.types import BuildOutcome, DatasetSpec
from tunix_rt.traces.importer import ImportOptions, ImportReport, import_traces
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import PreparedTrace, StoredTrace, trace_id

MAX_IDS_REPORTED = 1_000


class IngestReport(BaseModel):
    """The result of ingesting a file."""

    model_config = ConfigDict(frozen=True)
    ingested_count: int
    """Rows of the file that are stored, including those stored before."""
    trace_ids: tuple[UUID, ...]
    """Their ids, in id order; the first 1,000."""
    report: ImportReport
    dataset: BuildOutcome | None
    """The dataset of these traces, if one was requested."""


class _RecordingStore:
    """Stores traces and records their ids."""

    def __init__(self, traces: TraceRepository) -> None:
        self._traces = traces
        self.ids: set[UUID] = set()

    def add_prepared(self, entries: Sequence[PreparedTrace]) -> set[UUID]:
        """Store traces and record their ids."""
        added = self._traces.add_prepared(entries)
        self.ids.update(UUID(hex=entry.id_hex) for entry in entries)
        return added


def named_file(file: str) -> str | Path:
    """The file, or the shipped dataset of this name if there is no such file."""
    if not Path(file).exists() and file in shipped_dataset_names():
        return shipped_dataset_path(file)
    return file


def default_name_and_version(file: str) -> tuple[str, str]:
    """The default name and version of a dataset built from a file.

    Example:
        "dev-reasoning-v2" -> ("dev-reasoning", "v2"), "data/GSM8K train.jsonl.gz" -> ("gsm8k-train", "v1")
    """
    stem = re.sub(r"[^a-z0-9._]+", "-", source_name(file).lower()).strip("-._")
    versioned = re.fullmatch(r"(.+)-(v\d+)", stem)
    return (versioned[1], versioned[2]) if versioned else (stem or "dataset", "v1")


def ingest_file(
    home: Home,
    file: str | Path,
    *,
    options: ImportOptions,
    spec: DatasetSpec | None,
    name: str | None = None,
    on_build: Progress = lambda _: None,
) -> IngestReport:
    """Import a file, all or nothing, and build a dataset from its traces if `spec` is given.

    The filters of `spec` apply within the file: other stored traces are not considered.
    """
    target = _RecordingStore(TraceRepository(home.database))
    report = import_traces(target, file, options, name=name)
    outcome = None
    if spec is not None:
        outcome = build_from_store(home, spec, only=target.ids, progress=on_build)
    return IngestReport(
        ingested_count=len(target.ids),
        trace_ids=tuple(sorted(target.ids)[:MAX_IDS_REPORTED]),
        report=report,
        dataset=outcome,
    )


def ensure_shipped(datasets_dir: Path, key: str) -> None:
    """Build a shipped dataset when its key is first used; other keys are ignored.

    Raises:
        DataError: the dataset overlaps with an eval set of the user.
    """
    if key not in shipped_dataset_names() or dataset_exists(datasets_dir, key):
        return
    name, _, version = key.rpartition("-")
    spec = DatasetSpec(
        dataset_name=name, dataset_version=version, license="Apache-2.0", provenance={"shipped": True}
    )
    evalsets = load_evalsets(datasets_dir.parent / EVALSETS)
    now = datetime.now(UTC)
    lines = sorted((trace_id(line), line) for line in shipped_traces(key))
    traces = [StoredTrace(id=id_, created_at=now, canonical=line) for id_, line in lines]
    build_dataset(spec, traces, datasets_dir=datasets_dir, evalsets=evalsets)
