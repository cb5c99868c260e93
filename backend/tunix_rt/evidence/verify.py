"""Run all checks on a bundle, in order."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from tunix_rt import __version__
from tunix_rt.base.errors import DataError
from tunix_rt.evidence.check_files import (
    check_complete,
    check_container,
    check_contents,
    check_files,
    check_sums,
    read_manifest,
    skipped_checks,
)
from tunix_rt.evidence.check_run import check_scores, dataset_problems, metrics_problems, run_problems
from tunix_rt.evidence.files import Bundle, open_bundle
from tunix_rt.evidence.reader import Contents
from tunix_rt.evidence.sign import check_signature
from tunix_rt.evidence.types import (
    UNLISTED_FILES,
    BundleProblem,
    Check,
    CheckName,
    EvidenceManifest,
    EvidenceVerdict,
    VerifyProgress,
    check_of,
    skipped,
)

_MAX_PROBLEMS = 1_000

Replay = Callable[[Bundle, EvidenceManifest], Check]
"""Trains the first steps again; passed in by callers that may load an engine."""

_FindProblems = Callable[[Contents, EvidenceManifest], Iterator[str]]
"""Yields one line per contradiction."""


def verify_evidence(
    path: Path, *, public_key: Path | None = None, replay: Replay | None = None
) -> EvidenceVerdict:
    """Verify a directory or zip file. Memory use does not depend on its size, and nothing is written.

    Args:
        path: the bundle.
        public_key: key of the expected signer.
        replay: the optional check that trains again.

    Raises:
        NotFoundError: `path` does not exist.
    """
    *_, verdict = iter_verification(path, public_key=public_key, replay=replay)
    assert isinstance(verdict, EvidenceVerdict)
    return verdict


def iter_verification(
    path: Path, *, public_key: Path | None = None, replay: Replay | None = None
) -> Iterator[VerifyProgress | EvidenceVerdict]:
    """Yield the progress after every file and check, and finally the verdict.

    Raises:
        NotFoundError: `path` does not exist.
    """
    manifest, name, checks, num_bytes = None, path.name, list[Check](), 0
    try:
        with open_bundle(path) as bundle:
            name = bundle.name
            total_bytes = sum(size for path, size in bundle.sizes.items() if path not in UNLISTED_FILES)
            for step in _checks(bundle, public_key, replay):
                if isinstance(step, EvidenceManifest):
                    manifest = step
                    continue
                if isinstance(step, Check):
                    checks.append(step)
                else:
                    num_bytes += step
                yield VerifyProgress(checks=tuple(checks), num_bytes=num_bytes, total_bytes=total_bytes)
    except DataError as error:
        problem = BundleProblem(detail=error.detail, next_step=error.next_step)
        manifest, name = None, path.name
        checks = [check_of("container", path.name, [problem]), *skipped_checks()]
    yield EvidenceVerdict(
        passed=all(check.status != "failed" for check in checks),
        checked_at=datetime.now(UTC),
        tunix_rt_version=__version__,
        bundle=name,
        manifest=manifest,
        checks=tuple(checks),
    )


def _checks(
    bundle: Bundle, public_key: Path | None, replay: Replay | None
) -> Iterator[Check | int | EvidenceManifest]:
    """Yield each check, the manifest if it is intact, and the size of each hashed file."""
    container = check_container(bundle)
    yield container
    manifest = None
    if container.status == "passed":
        manifest, listed = read_manifest(bundle)
        yield listed
    if manifest is None:
        yield from skipped_checks()
        return
    yield manifest
    files = yield from check_files(bundle, manifest)
    yield files
    others = [check_sums(bundle, manifest), check_signature(bundle, public_key)]
    yield from others
    if any(check.status == "failed" for check in (files, *others)):
        yield from skipped_checks()
        return
    has_failed = False
    for check in _content_checks(bundle, manifest):
        has_failed |= check.status == "failed"
        yield check
    if replay is not None and has_failed:
        yield skipped("replay", "not trained again: another check failed")
    elif replay is not None:
        yield replay(bundle, manifest)


def _content_checks(bundle: Bundle, manifest: EvidenceManifest) -> Iterator[Check]:
    """Check the contents of files that are known to be unchanged.

    A check is skipped if its files are missing, and fails if they cannot be read.
    """
    contents = Contents(bundle)

    def check(name: CheckName, run: Callable[[], Check], *needs: str) -> Check:
        missing = [path for path in needs if not contents.has(path)]
        if missing:
            return skipped(name, f"not checked: {missing[0]} is missing")
        try:
            return run()
        except DataError as error:
            problem = BundleProblem(detail=error.detail, next_step=error.next_step)
            return check_of(name, "", [problem])

    def consistent(name: CheckName, detail: str, find: _FindProblems, *needs: str) -> Check:
        def run() -> Check:
            found = islice(find(contents, manifest), _MAX_PROBLEMS)
            return check_of(name, detail, [BundleProblem(detail=problem) for problem in found])

        return check(name, run, "run_manifest.json", *needs)

    yield check_complete(contents, manifest)
    yield check_contents(contents, manifest)
    yield consistent("run", "manifest, events, environment, evaluation and provenance", run_problems)
    dataset_files = ("dataset/manifest.json", "dataset/croissant.json")
    yield consistent("dataset", "hashes, rows and Croissant", dataset_problems, *dataset_files)
    figure_files = ["metrics.jsonl"]
    if manifest.kind != "failure-report":
        figure_files += ["eval_summary.json", "evaluation.json"]
    yield consistent(
        "figures", "losses, steps, memory and speed, recomputed", metrics_problems, *figure_files
    )
    score_files = ("evaluation.json", "evalset.jsonl", "predictions.jsonl")
    yield check("scores", lambda: check_scores(contents), *score_files)
