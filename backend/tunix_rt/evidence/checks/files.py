"""Checks of the files: unchanged, complete, valid against their schemas, without placeholders."""

import re
from collections import Counter
from collections.abc import Generator, Iterator
from itertools import islice
from typing import Any

from pydantic import ValidationError

from tunix_rt.base.errors import DataError
from tunix_rt.evidence.files import Bundle, Digest, digest_of, read_whole
from tunix_rt.evidence.reader import MAX_JSON_BYTES, TYPES, Contents, first_problem, strict_json
from tunix_rt.evidence.types import (
    EVIDENCE_FILE,
    EVIDENCE_VERSIONS,
    KINDS,
    SUMS_FILE,
    UNLISTED_FILES,
    BundleProblem,
    Check,
    EvidenceFile,
    EvidenceManifest,
    FileKind,
    check_of,
    kind_of,
    skipped,
    sums_text,
)

_GET_ANOTHER_COPY = "Get another copy of the bundle from where it was published."
_REMOVE_UNLISTED = "Move the unlisted files out of the bundle, or get another copy of it."


def check_container(bundle: Bundle) -> Check:
    """Only regular files, and no path leads out of the bundle."""
    problems = [BundleProblem(detail=problem, next_step=_GET_ANOTHER_COPY) for problem in bundle.problems]
    total = sum(bundle.sizes.values())
    return check_of("container", f"{len(bundle.sizes):,} files, {total:,} bytes", problems)


def read_manifest(bundle: Bundle) -> tuple[EvidenceManifest | None, Check]:
    """The manifest if it is intact, and the check."""
    try:
        manifest = _manifest(bundle)
    except DataError as error:
        problem = BundleProblem(detail=error.detail, next_step=error.next_step)
        return None, check_of("manifest", "evidence.json", [problem])
    detail = f"evidence version {manifest.evidence_version}, content hash {manifest.content_hash[:16]}…"
    return manifest, check_of("manifest", detail, [])


def check_files(bundle: Bundle, manifest: EvidenceManifest) -> Generator[int, None, Check]:
    """Every listed file is present and unchanged, with no others. Yields the size of each hashed file."""
    listed = Counter(file.path for file in manifest.files)
    missing = [file for file in manifest.files if file.path not in bundle.sizes]
    problems = []
    for path in sorted(bundle.sizes.keys() - listed.keys() - set(UNLISTED_FILES)):
        former = _same_bytes(bundle, path, missing)
        detail = f"{path} is not listed" + (f"; it has the bytes of {former}" if former else "")
        problems.append(BundleProblem(detail=detail, next_step=_REMOVE_UNLISTED))
    found = [f"{path} is listed {count} times" for path, count in listed.items() if count > 1]
    found += [f"{path} must not be listed" for path in UNLISTED_FILES if path in listed]
    found += [f"{file.path} is missing" for file in missing]
    owners = {file.sha256: file.path for file in manifest.files}
    for file in manifest.files:
        if file.path in bundle.sizes:
            if problem := _byte_problem(bundle, file, owners):
                found.append(f"{file.path} {problem}")
            yield bundle.sizes[file.path]
    problems += [BundleProblem(detail=problem, next_step=_GET_ANOTHER_COPY) for problem in found]
    detail = f"{len(manifest.files):,} files, {manifest.size_bytes:,} bytes hashed"
    return check_of("files", detail, problems)


def check_sums(bundle: Bundle, manifest: EvidenceManifest) -> Check:
    """SHA256SUMS has the same hashes, including those of the unlisted files."""
    if SUMS_FILE not in bundle.sizes:
        return check_of(
            "sums", SUMS_FILE, [BundleProblem(detail=f"{SUMS_FILE} is missing", next_step=_GET_ANOTHER_COPY)]
        )
    hashes = {file.path: file.sha256 for file in manifest.files}
    for path in UNLISTED_FILES:
        if path in bundle.sizes and path != SUMS_FILE:
            found = digest_of(bundle, path, max_bytes=MAX_JSON_BYTES)
            hashes[path] = found.sha256 if isinstance(found, Digest) else found
    stated = read_whole(bundle, SUMS_FILE, max_bytes=MAX_JSON_BYTES)
    problems = []
    if stated != sums_text(hashes):
        detail = f"{SUMS_FILE} does not have the hashes of these files"
        problems.append(BundleProblem(detail=detail, next_step=_GET_ANOTHER_COPY))
    return check_of("sums", f"{len(hashes):,} sums", problems)


def skipped_checks(reason: str = "not checked: the bundle was changed after it was packed") -> list[Check]:
    """The content checks, skipped."""
    names = ("complete", "contents", "run", "training", "dataset", "evaluation", "figures", "scores", "pages")
    return [skipped(name, reason) for name in names]  # type: ignore[arg-type]


def _manifest(bundle: Bundle) -> EvidenceManifest:
    if EVIDENCE_FILE not in bundle.sizes:
        raise DataError(
            f"There is no {EVIDENCE_FILE}.",
            next_step="Name a directory or zip file written by `tunix-rt evidence pack`.",
        )
    text = read_whole(bundle, EVIDENCE_FILE, max_bytes=MAX_JSON_BYTES)
    value = strict_json(text, EVIDENCE_FILE)
    stated = value if isinstance(value, dict) else {"tunix_rt_version": "?"}
    version, by = stated.get("evidence_version"), stated.get("tunix_rt_version", "an unknown version")
    if version not in EVIDENCE_VERSIONS:
        raise DataError(
            f"The bundle has evidence version {version!r}; "
            f"this tunix-rt supports the versions {', '.join(map(repr, EVIDENCE_VERSIONS))}.",
            next_step=f"Verify it with the tunix-rt that packed it ({by}) or a newer one.",
        )
    try:
        manifest = EvidenceManifest.model_validate_json(text)
    except ValidationError as error:
        raise DataError(f"{EVIDENCE_FILE}: {first_problem(error)}.", next_step=_GET_ANOTHER_COPY) from error
    if manifest.content_hash != manifest.expected_hash() or manifest.to_bytes() != text:
        raise DataError(f"{EVIDENCE_FILE} was changed after it was written.", next_step=_GET_ANOTHER_COPY)
    return manifest


def _byte_problem(bundle: Bundle, file: EvidenceFile, owners: dict[str, str]) -> str | None:
    size_bytes = bundle.sizes[file.path]
    found = digest_of(bundle, file.path, max_bytes=max(file.size_bytes, size_bytes))
    if not isinstance(found, Digest):
        return found
    if found == Digest(file.size_bytes, file.sha256):
        return None
    if found.sha256 in owners:
        return f"has the bytes of {owners[found.sha256]}"
    if found.size_bytes < file.size_bytes:
        return f"is truncated: {found.size_bytes:,} of {file.size_bytes:,} bytes"
    if found.size_bytes > file.size_bytes:
        return f"has {found.size_bytes:,} bytes, not {file.size_bytes:,}"
    return "was changed: its SHA-256 differs"


def _same_bytes(bundle: Bundle, path: str, candidates: list[EvidenceFile]) -> str | None:
    """The missing file with the same bytes as this one, if any."""
    alike = [file for file in candidates if file.size_bytes == bundle.sizes[path]]
    if not alike:
        return None
    found = digest_of(bundle, path, max_bytes=bundle.sizes[path])
    hashes = {file.sha256: file.path for file in alike}
    return hashes.get(found.sha256) if isinstance(found, Digest) else None


_MAX_PROBLEMS = 1_000
_NEXT_STEPS = {
    "run_manifest.json": "Wait until the run has ended; add --failure-report for one that did not succeed.",
    "evaluation.json": "Evaluate it: tunix-rt eval {run} --eval-set eval_v2",
    "predictions.jsonl": "Evaluate it: tunix-rt eval {run} --eval-set eval_v2",
    "evalset.jsonl": "Evaluate it again: tunix-rt eval {run} --eval-set eval_v2",
    "eval_summary.json": "Evaluate it on an eval set with at least one item that can be scored.",
    "requirements.lock.txt": "Run it again: this version records every installed package.",
    "dataset/manifest.json": "Restore the dataset, or build it with tunix-rt data ingest and train on that.",
}


def check_complete(contents: Contents, manifest: EvidenceManifest) -> Check:
    """Evidence has all required files of a success, and a failure is labelled as one."""
    problems, run_id = [], manifest.run_id
    if manifest.kind == "evidence" and manifest.status != "succeeded":
        detail = f"the run {run_id} is {manifest.status}, which is not a success"
        next_step = "Pack it as a failure report: add --failure-report"
        problems.append(BundleProblem(detail=detail, next_step=next_step))
    if manifest.kind == "failure-report" and manifest.status == "succeeded":
        detail = f"the run {run_id} succeeded but is packed as a failure report"
        problems.append(BundleProblem(detail=detail, next_step="Omit --failure-report."))
    if manifest.kind == "evidence":
        for kind in KINDS:
            if kind.is_required and not contents.has(kind.pattern):
                fix = _NEXT_STEPS.get(kind.pattern)
                fix = None if fix is None else fix.format(run=run_id)
                problems.append(BundleProblem(detail=f"{kind.pattern} is missing", next_step=fix))
    unknown = [file.path for file in manifest.files if kind_of(file.path) is None]
    problems += [BundleProblem(detail=f"{path} does not belong in a bundle") for path in unknown]
    word = "evidence of a success" if manifest.kind == "evidence" else "report of a failure"
    return check_of("complete", f"{word}, {len(manifest.files):,} files", problems)


def check_contents(contents: Contents, manifest: EvidenceManifest) -> Check:
    """Every file is valid against its schema, without nulls, NaN or placeholders."""
    checked = [
        (file.path, kind) for file in manifest.files if (kind := kind_of(file.path)) and kind.content_schema
    ]
    problems = [
        BundleProblem(detail=f"{path}: {found}")
        for path, kind in checked
        for found in _problems_of(contents, path, kind)
    ]
    return check_of("contents", f"{len(checked):,} files against their schemas", problems)


def _problems_of(contents: Contents, path: str, kind: FileKind) -> list[str]:
    try:
        if not kind.is_lines:
            return list(islice(_text_problems(contents.text(path), path, kind), _MAX_PROBLEMS))
        problems = (
            f"line {number}: {found}"
            for number, line in contents.lines(path)
            for found in _text_problems(line, path, kind)
        )
        return list(islice(problems, _MAX_PROBLEMS))
    except DataError as error:
        return [error.detail.removeprefix(f"{path}: ")]


def _text_problems(text: bytes, path: str, kind: FileKind) -> Iterator[str]:
    assert kind.content_schema is not None
    if kind.strictness != "own-rules":
        for found in placeholders(strict_json(text, path)):
            if kind.strictness == "no-placeholders" or found.endswith(" is null"):
                yield found
    try:
        TYPES[kind.content_schema].validate_json(text)
    except ValidationError as error:
        yield first_problem(error)


_PLACEHOLDER = re.compile(
    r"(?:null|none|nan|-?inf(?:inity)?|n/?a|tbd|todo|fixme|xxx+|\?+|\.\.\.|…|placeholder|changeme|"
    r"(?:to be )?(?:filled|determined|populated)(?: in| later)?|"
    r"(?:<|\[|\{\{?)[^<>\[\]{}]*(?:>|\]|\}\}?)|your[ _-].*)",
    re.I,
)


def placeholders(value: Any, path: str = "") -> Iterator[str]:
    """Yield one line per null or placeholder.

    Example:
        {"metrics": {"final_loss": None}, "model": "TODO"} -> "metrics.final_loss is null", 'model is "TODO"'
    """
    if value is None:
        yield f"{path or 'the value'} is null"
    elif isinstance(value, str) and _PLACEHOLDER.fullmatch(value.strip()):
        yield f'{path or "the value"} is "{value}"'
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from placeholders(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from placeholders(inner, f"{path}[{index}]")
