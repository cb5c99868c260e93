"""The datasets that ship inside the package are there by their key, without a step to fetch them."""

from datetime import UTC, datetime
from pathlib import Path

from tunix_rt.base.assets import shipped_dataset_names, shipped_traces
from tunix_rt.base.settings import EVALSETS
from tunix_rt.core.dataset_spec import DatasetSpec
from tunix_rt.files.dataset_dirs import dataset_exists
from tunix_rt.services.contamination import load_evalsets
from tunix_rt.services.dataset_building import build_dataset
from tunix_rt.traces.types import StoredTrace, trace_id


def ensure_shipped(datasets_dir: Path, key: str) -> None:
    """Build a shipped dataset the first time its key is used; any other key is left alone.

    Raises:
        DataError: one of the user's own eval sets asks a question that the dataset answers.
    """
    if key not in shipped_dataset_names() or dataset_exists(datasets_dir, key):
        return
    name, _, version = key.rpartition("-")
    spec = DatasetSpec(
        dataset_name=name, dataset_version=version, license="Apache-2.0", provenance={"shipped": True}
    )
    evalsets = load_evalsets(datasets_dir.parent / EVALSETS)
    build_dataset(spec, _stored(key), datasets_dir=datasets_dir, evalsets=evalsets)


def _stored(key: str) -> list[StoredTrace]:
    now = datetime.now(UTC)
    lines = [(trace_id(line), line) for line in shipped_traces(key)]
    return [StoredTrace(id=id_, created_at=now, canonical=line) for id_, line in sorted(lines)]
