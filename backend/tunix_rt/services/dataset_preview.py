"""What a build would take, before anything is built."""

import tempfile
from collections import Counter
from contextlib import closing
from itertools import islice
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.home import Home
from tunix_rt.core.dataset import Removal
from tunix_rt.core.dataset_spec import DatasetSpec
from tunix_rt.files.dataset_build import RowSpool
from tunix_rt.files.dataset_dirs import dataset_exists
from tunix_rt.services.contamination import ContaminationChecker, load_evalsets
from tunix_rt.services.row_scanning import RowScan, scan_rows
from tunix_rt.services.row_selection import Selection, select_rows
from tunix_rt.traces.linter.findings import LINTER_VERSION
from tunix_rt.traces.service import score_unscored
from tunix_rt.traces.store import TraceRepository

MAX_TRACES = 5_000
"""A preview follows a person who types: it looks at so many traces and says when there are more."""


class DatasetPreview(BaseModel):
    """How many rows a build would take and why the others go; nothing is written."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    dataset_key: str
    is_taken: bool
    """Whether a dataset of this key is there already."""
    num_matching: int
    """Traces that the filters let through."""
    matching_is_exact: bool
    """False when there are more than `num_matching`: counting stops at a bound."""
    num_unscored: int
    """Traces that a filter needs judged and that only the build will judge."""
    num_considered: int
    """Traces that were looked at for the counts below; `is_partial` says whether these are all."""
    is_partial: bool
    num_rows: int
    removed: tuple[Removal, ...]
    splits: dict[str, int]
    """Rows per split."""
    num_overlapping_rows: int
    """Rows that an eval set also asks: the build is refused unless they are removed or allowed."""


def preview_dataset(home: Home, spec: DatasetSpec, *, max_traces: int = MAX_TRACES) -> DatasetPreview:
    """Select as a build of `spec` would, over the first `max_traces` traces."""
    num_unscored = _judge_if_few(home, spec, max_traces)
    page = TraceRepository(home.database).list(spec.filters, limit=1, offset=0)
    with closing(RowSpool(Path(tempfile.gettempdir()))) as spool:
        scan = _scan(home, spec, spool, max_traces)
        selection = select_rows(spec, scan.rows, scan.matches, spool.__getitem__)
    in_split = Counter(scan.split_names[index] for index in selection.kept)
    return DatasetPreview(
        dataset_key=spec.dataset_key,
        is_taken=dataset_exists(home.settings.datasets_dir, spec.dataset_key),
        num_matching=page.total,
        matching_is_exact=page.total_is_exact,
        num_unscored=num_unscored,
        num_considered=len(scan.rows),
        is_partial=len(scan.rows) < page.total,
        num_rows=len(selection.kept),
        removed=tuple(selection.removals),
        splits={name: in_split[name] for name in spec.splits},
        num_overlapping_rows=_num_overlapping(spec, scan, selection),
    )


def _scan(home: Home, spec: DatasetSpec, spool: RowSpool, max_traces: int) -> RowScan:
    checker = ContaminationChecker(load_evalsets(home.settings.evalsets_dir))
    with closing(TraceRepository(home.database).iter_selected(spec.filters)) as chosen:
        return scan_rows(spec, islice(chosen, max_traces), spool, checker)


def _num_overlapping(spec: DatasetSpec, scan: RowScan, selection: Selection) -> int:
    if spec.remove_contaminated:
        return len(scan.matches)
    return sum(index in scan.matches for index in selection.kept)


def _judge_if_few(home: Home, spec: DatasetSpec, max_traces: int) -> int:
    """Judge what a filter needs judged; how many are left because they are too many to wait for."""
    if not spec.filters.needs_lint:
        return 0
    num_unscored = TraceRepository(home.database).count_unscored(spec.filters, LINTER_VERSION)
    if num_unscored > max_traces:
        return num_unscored
    score_unscored(TraceRepository(home.database), spec.filters)
    return 0
