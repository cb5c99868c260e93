"""Run all checks on a bundle, in order."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
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
_MANIFEST = "run_manifest.json"

Replay = Callable[[Bundle, EvidenceManifest], Check]
"""Trains the first steps again; passed in by callers that may load an engine."""


@dataclass(frozen=True)
class VerifyOptions:
    """Optional checks of a verification."""

    public_key: Path | None = None
    """Key of the expected signer."""
    replay: Replay | None = None


def verify_evidence(path: Path, options: VerifyOptions | None = None) -> EvidenceVerdict:
    """Verify a directory or zip file. Memory use does not depend on its size, and nothing is written.

    Raises:
        NotFoundError: `path` does not exist.
    """
    *_, verdict = iter_verification(path, options)
    assert isinstance(verdict, EvidenceVerdict)
    return verdict


def iter_verification(
    path: Path, options: VerifyOptions | None = None
) -> Iterator[VerifyProgress | EvidenceVerdict]:
    """Yield the progress after every file and check, and finally the verdict.

    Raises:
        NotFoundError: `path` does not exist.
    """
    manifest, name, checks = None, path.name, list[Check]()
    try:
        with open_bundle(path) as bundle:
            manifest = yield from _with_progress(_checks(bundle, options or VerifyOptions()), bundle, checks)
            name = bundle.name
    except DataError as error:
        problem = BundleProblem(detail=error.detail, next_step=error.next_step)
        checks = [check_of("container", path.name, [problem]), *skipped_checks()]
    yield EvidenceVerdict(
        passed=all(check.status != "failed" for check in checks),
        checked_at=datetime.now(UTC),
        tunix_rt_version=__version__,
        bundle=name,
        manifest=manifest,
        checks=tuple(checks),
    )


_Steps = Generator[Check | int, None, EvidenceManifest | None]
"""Yields each check and the size of each hashed file; returns the manifest."""


def _with_progress(
    steps: _Steps, bundle: Bundle, checks: list[Check]
) -> Generator[VerifyProgress, None, EvidenceManifest | None]:
    """Collect the checks and yield the progress after each step."""
    num_bytes = 0
    total_bytes = sum(size for path, size in bundle.sizes.items() if path not in UNLISTED_FILES)
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            manifest: EvidenceManifest | None = end.value
            return manifest
        if isinstance(step, Check):
            checks.append(step)
        else:
            num_bytes += step
        yield VerifyProgress(checks=tuple(checks), num_bytes=num_bytes, total_bytes=total_bytes)


def _checks(bundle: Bundle, options: VerifyOptions) -> _Steps:
    container = check_container(bundle)
    yield container
    manifest, listed = read_manifest(bundle) if container.status == "passed" else (None, None)
    if listed is not None:
        yield listed
    if manifest is None:
        yield from skipped_checks()
        return None
    files = yield from check_files(bundle, manifest)
    yield files
    others = [check_sums(bundle, manifest), check_signature(bundle, options.public_key)]
    yield from others
    if any(check.status == "failed" for check in (files, *others)):
        yield from skipped_checks()
        return manifest
    content = []
    for check in content_checks(bundle, manifest):
        content.append(check)
        yield check
    if options.replay is not None:
        yield _run_replay(options.replay, bundle, manifest, content)
    return manifest


def content_checks(bundle: Bundle, manifest: EvidenceManifest) -> Iterator[Check]:
    """The checks of the contents, for files that are known to be unchanged."""
    contents = Contents(bundle)
    checks = _ContentChecks(contents, manifest)
    yield check_complete(contents, manifest)
    yield check_contents(contents, manifest)
    yield checks.problems("run", run_problems, (_MANIFEST,))
    dataset_files = (_MANIFEST, "dataset/manifest.json", "dataset/croissant.json")
    yield checks.problems("dataset", dataset_problems, dataset_files)
    yield checks.problems("figures", metrics_problems, (_MANIFEST, "metrics.jsonl", *_of_success(manifest)))
    yield checks.check("scores", check_scores, ("evaluation.json", "evalset.jsonl", "predictions.jsonl"))


def _of_success(manifest: EvidenceManifest) -> tuple[str, ...]:
    return () if manifest.kind == "failure-report" else ("eval_summary.json", "evaluation.json")


def _run_replay(replay: Replay, bundle: Bundle, manifest: EvidenceManifest, checks: list[Check]) -> Check:
    if any(check.status == "failed" for check in checks):
        return skipped("replay", "not trained again: another check failed")
    return replay(bundle, manifest)


_DETAILS: dict[CheckName, str] = {
    "run": "manifest, events, environment, evaluation and provenance",
    "dataset": "hashes, rows and Croissant",
    "figures": "losses, steps, memory and speed, recomputed",
}


@dataclass(frozen=True)
class _ContentChecks:
    """Runs checks whose files are present; a file that cannot be read fails its check."""

    contents: Contents
    manifest: EvidenceManifest

    def problems(
        self,
        name: CheckName,
        find: Callable[[Contents, EvidenceManifest], Iterator[str]],
        needs: tuple[str, ...],
    ) -> Check:
        def run(contents: Contents) -> Check:
            found = [
                BundleProblem(detail=problem)
                for problem in islice(find(contents, self.manifest), _MAX_PROBLEMS)
            ]
            return check_of(name, _DETAILS[name], found)

        return self.check(name, run, needs)

    def check(self, name: CheckName, run: Callable[[Contents], Check], needs: tuple[str, ...]) -> Check:
        missing = [path for path in needs if not self.contents.has(path)]
        if missing:
            return skipped(name, f"not checked: {missing[0]} is missing")
        try:
            return run(self.contents)
        except DataError as error:
            problem = BundleProblem(detail=error.detail, next_step=error.next_step)
            return check_of(name, "", [problem])
