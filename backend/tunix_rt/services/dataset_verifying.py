"""Prove that a dataset is what its manifest says."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from tunix_rt.base.errors import DataError
from tunix_rt.base.records import explain_validation_error
from tunix_rt.core.dataset import DatasetManifest, SplitFile, content_hash
from tunix_rt.core.dataset_rows import digest
from tunix_rt.files.dataset_dirs import CARD_FILE, dataset_dir, file_sha256, iter_lines
from tunix_rt.services.datasets import get_dataset
from tunix_rt.traces.types import Trace, canonical_json, normalised_prompt, trace_id

_MAX_PROBLEMS = 20


class DatasetVerdict(BaseModel):
    """Whether a dataset is intact, and what is not."""

    model_config = ConfigDict(frozen=True)
    dataset_key: str
    intact: bool
    content_hash: str
    num_rows: int
    problems: tuple[str, ...]


def verify_dataset(datasets_dir: Path, key: str) -> DatasetVerdict:
    """Hash every file again, read every row, and compare with the manifest."""
    manifest = get_dataset(datasets_dir, key)
    found = _problems(datasets_dir, manifest)
    problems = tuple(problem for problem, _ in zip(found, range(_MAX_PROBLEMS), strict=False))
    return DatasetVerdict(
        dataset_key=key,
        intact=not problems,
        content_hash=manifest.content_hash,
        num_rows=manifest.num_rows,
        problems=problems,
    )


def _problems(datasets_dir: Path, manifest: DatasetManifest) -> Iterator[str]:
    if manifest.dataset_key != manifest.spec.dataset_key:
        yield f"the manifest names two keys: {manifest.dataset_key} and {manifest.spec.dataset_key}"
    hashes = [(split.name, split.sha256) for split in manifest.splits]
    if content_hash(hashes) != manifest.content_hash:
        yield "the content hash does not follow from the split hashes"
    folder = dataset_dir(datasets_dir, manifest.dataset_key)
    yield from _changed_file(folder / CARD_FILE, manifest.card_sha256)
    split_of_question: dict[bytes, str] = {}
    for split in manifest.splits:
        changed = list(_changed_file(folder / split.filename, split.sha256))
        yield from changed or _bad_rows(datasets_dir, manifest, split, split_of_question)


def _changed_file(path: Path, expected_sha256: str) -> Iterator[str]:
    try:
        if file_sha256(path) != expected_sha256:
            yield f"{path.name} is not the file that was built: its SHA-256 differs"
    except DataError as error:
        yield error.detail


def _bad_rows(
    datasets_dir: Path, manifest: DatasetManifest, split: SplitFile, split_of_question: dict[bytes, str]
) -> Iterator[str]:
    num_rows = 0
    last_id = ""
    for num_rows, line in enumerate(iter_lines(datasets_dir, manifest.dataset_key, split.name), start=1):
        place = f"{split.filename} line {num_rows}"
        try:
            trace = Trace.model_validate_json(line)
        except ValidationError as error:
            yield f"{place}: {explain_validation_error(error)}"
            continue
        if canonical_json(trace) != line:
            yield f"{place}: is not canonical JSON"
        row_id = str(trace_id(line))
        if row_id <= last_id:
            yield f"{place}: is not in trace id order"
        last_id = row_id
        question = digest(normalised_prompt(trace.prompt))
        if split_of_question.setdefault(question, split.name) != split.name:
            yield f"{place}: asks a question that is in {split_of_question[question]!r} too"
    if num_rows != split.statistics.num_rows:
        yield f"{split.filename} has {num_rows} rows, the manifest says {split.statistics.num_rows}"
