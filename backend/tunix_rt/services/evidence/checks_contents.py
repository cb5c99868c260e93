"""Is everything there, and does every file say something?"""

from collections.abc import Iterator
from itertools import islice

from pydantic import ValidationError

from tunix_rt.base.errors import DataError
from tunix_rt.core.evidence.contents import FileKind, Strictness, kind_of, required_paths
from tunix_rt.core.evidence.manifest import EvidenceManifest
from tunix_rt.core.evidence.placeholders import placeholders
from tunix_rt.core.evidence.verdict import BundleProblem, Check, check_of
from tunix_rt.services.evidence.reading import Contents, first_problem, strict_json
from tunix_rt.services.evidence.schemas import TYPES

_MAX_COUNTED = 1_000
_NEXT_STEPS = {
    "run_manifest.json": "Let the run end first; `--failure-report` packs one that did not succeed.",
    "evaluation.json": "Evaluate it: tunix-rt eval {run} --eval-set eval_v2",
    "predictions.jsonl": "Evaluate it: tunix-rt eval {run} --eval-set eval_v2",
    "evalset.jsonl": "Evaluate it again: tunix-rt eval {run} --eval-set eval_v2",
    "eval_summary.json": "Evaluate it with an eval set of which at least one answer can be scored.",
    "requirements.lock.txt": "Run it again: this version writes down every installed package.",
    "dataset/manifest.json": "Put the dataset back, or build it with tunix-rt data ingest and train on that.",
}


def check_complete(contents: Contents, manifest: EvidenceManifest) -> Check:
    """A success has everything that proves it; a failure is called one."""
    problems = [*_status_problems(manifest)]
    if manifest.kind == "evidence":
        missing = [path for path in required_paths() if not contents.has(path)]
        problems += [_missing(path, manifest.run_id) for path in missing]
    unknown = [file.path for file in manifest.files if kind_of(file.path) is None]
    problems += [BundleProblem(detail=f"{path} has no place in a bundle") for path in unknown]
    word = "evidence of a success" if manifest.kind == "evidence" else "report of a failure"
    return check_of("complete", f"{word}, {len(manifest.files):,} files", problems)


def check_contents(contents: Contents, manifest: EvidenceManifest) -> Check:
    """Every file follows its schema, without nulls, NaN or placeholders."""
    checked = [
        (file.path, kind) for file in manifest.files if (kind := kind_of(file.path)) and kind.content_schema
    ]
    problems: list[BundleProblem] = []
    for path, kind in checked:
        problems += [BundleProblem(detail=f"{path}: {found}") for found in _problems_of(contents, path, kind)]
    return check_of("contents", f"{len(checked):,} files against their schemas", problems)


def _status_problems(manifest: EvidenceManifest) -> Iterator[BundleProblem]:
    if manifest.kind == "evidence" and manifest.status != "succeeded":
        yield BundleProblem(
            detail=f"the run {manifest.run_id} is {manifest.status}, which is no success",
            next_step="Pack it as what it is: add --failure-report",
        )
    if manifest.kind == "failure-report" and manifest.status == "succeeded":
        yield BundleProblem(
            detail=f"the run {manifest.run_id} succeeded, and is packed as a failure",
            next_step="Leave --failure-report away.",
        )


def _missing(path: str, run_id: str) -> BundleProblem:
    next_step = _NEXT_STEPS.get(path)
    filled = None if next_step is None else next_step.format(run=run_id)
    return BundleProblem(detail=f"{path} is missing", next_step=filled)


def _problems_of(contents: Contents, path: str, kind: FileKind) -> list[str]:
    found = _line_problems(contents, path, kind) if kind.is_lines else _file_problems(contents, path, kind)
    try:
        return list(islice(found, _MAX_COUNTED))
    except DataError as error:
        return [error.detail.removeprefix(f"{path}: ")]


def _file_problems(contents: Contents, path: str, kind: FileKind) -> Iterator[str]:
    yield from _text_problems(contents.text(path), path, kind)


def _line_problems(contents: Contents, path: str, kind: FileKind) -> Iterator[str]:
    for number, line in contents.lines(path):
        yield from (f"line {number}: {found}" for found in _text_problems(line, path, kind))


def _text_problems(text: bytes, path: str, kind: FileKind) -> Iterator[str]:
    assert kind.content_schema is not None
    if kind.strictness != "own-rules":
        yield from _empty_values(text, path, kind.strictness)
    try:
        TYPES[kind.content_schema].validate_json(text)
    except ValidationError as error:
        yield first_problem(error)


def _empty_values(text: bytes, path: str, strictness: Strictness) -> Iterator[str]:
    for found in placeholders(strict_json(text, path)):
        if strictness == "no-placeholders" or found.endswith(" is null"):
            yield found
