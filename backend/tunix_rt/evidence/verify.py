"""Run all checks on a bundle, in order."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from itertools import islice
from pathlib import Path

from tunix_rt import __version__
from tunix_rt.base.errors import DataError
from tunix_rt.evidence.checks.batches import can_pack
from tunix_rt.evidence.checks.evaluation import evaluation_problems
from tunix_rt.evidence.checks.files import (
    check_complete,
    check_container,
    check_contents,
    check_files,
    check_sums,
    read_manifest,
    skipped_checks,
)
from tunix_rt.evidence.checks.pages import page_problems
from tunix_rt.evidence.checks.run import dataset_problems, metrics_problems, run_problems
from tunix_rt.evidence.checks.scores import check_scores
from tunix_rt.evidence.checks.training import training_problems
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
    shown_by,
    skipped,
)

_MAX_PROBLEMS = 1_000
_INCOMPARABLE = (ArithmeticError, TypeError, ValueError)
"""Errors of valid but absurd values: a time in the year 9999, or without a time zone, an epoch of 1e-300."""

Replay = Callable[[Bundle, EvidenceManifest], Check]
"""Trains the first steps again; passed in by callers that may load an engine."""

_FindProblems = Callable[[Contents, EvidenceManifest], Iterator[str]]
"""Yields one line per contradiction."""


def verify_evidence(
    path: Path,
    *,
    public_key: Path | None = None,
    replay: Replay | None = None,
    evalsets_dir: Path | None = None,
) -> EvidenceVerdict:
    """Verify a directory or zip file. Memory use does not depend on its size, and nothing is written.

    Args:
        path: the bundle.
        public_key: key of the expected signer.
        replay: the optional check that trains again.
        evalsets_dir: of eval sets to compare with, beside those that ship with the package.

    Raises:
        NotFoundError: `path` does not exist.
    """
    *_, verdict = iter_verification(path, public_key=public_key, replay=replay, evalsets_dir=evalsets_dir)
    assert isinstance(verdict, EvidenceVerdict)
    return verdict


def iter_verification(
    path: Path,
    *,
    public_key: Path | None = None,
    replay: Replay | None = None,
    evalsets_dir: Path | None = None,
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
            for step in _checks(bundle, public_key, replay, evalsets_dir):
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
    passed = manifest is not None and all(check.status != "failed" for check in checks)
    yield EvidenceVerdict(
        passed=passed,
        checked_at=datetime.now(UTC),
        tunix_rt_version=__version__,
        bundle=name,
        manifest=manifest,
        checks=tuple(checks),
        shown=shown_by(manifest, checks) if passed and manifest is not None else (),
    )


def _checks(
    bundle: Bundle, public_key: Path | None, replay: Replay | None, evalsets_dir: Path | None
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
    others = [check_sums(bundle, manifest), check_signature(bundle, manifest, public_key)]
    yield from others
    if any(check.status == "failed" for check in (files, *others)):
        yield from skipped_checks()
        return
    has_failed = False
    for check in _content_checks(bundle, manifest, evalsets_dir):
        has_failed |= check.status == "failed"
        yield check
    if replay is not None and has_failed:
        yield skipped("replay", "not trained again: another check failed")
    elif replay is not None:
        yield replay(bundle, manifest)


def _content_checks(bundle: Bundle, manifest: EvidenceManifest, evalsets_dir: Path | None) -> Iterator[Check]:
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
        except _INCOMPARABLE as error:
            return check_of(name, "", [BundleProblem(detail=f"values that cannot be compared: {error}")])

    def consistent(name: CheckName, detail: str, find: _FindProblems, *needs: str) -> Check:
        def run() -> Check:
            found = islice(find(contents, manifest), _MAX_PROBLEMS)
            return check_of(name, detail, [BundleProblem(detail=problem) for problem in found])

        return check(name, run, *needs)

    yield check_complete(contents, manifest)
    yield check_contents(contents, manifest)
    run_file = "run_manifest.json"
    yield consistent("run", "manifest, events, environment and provenance", run_problems, run_file)
    yield consistent(
        "training",
        _training_detail(contents),
        training_problems,
        run_file,
        "recipe.resolved.json",
        "events.jsonl",
    )
    dataset_files = (run_file, "dataset/manifest.json", "dataset/croissant.json")
    yield consistent("dataset", "hashes, rows and Croissant", dataset_problems, *dataset_files)
    yield consistent(
        "evaluation",
        _evaluation_detail(contents),
        partial(evaluation_problems, registered=_registered(evalsets_dir)),
        run_file,
        "recipe.resolved.json",
        "evaluation.json",
    )
    figure_files = [run_file, "metrics.jsonl"]
    if manifest.kind != "failure-report":
        figure_files += ["eval_summary.json", "evaluation.json"]
    yield consistent(
        "figures", "losses, steps, memory and speed, recomputed", metrics_problems, *figure_files
    )
    score_files = ("evaluation.json", "evalset.jsonl", "predictions.jsonl")
    yield check("scores", lambda: check_scores(contents), *score_files)
    yield consistent("pages", "rendered again and compared", page_problems, "evidence.html")


def _registered(evalsets_dir: Path | None) -> dict[str, Path]:
    return {} if evalsets_dir is None else {path.stem: path for path in sorted(evalsets_dir.glob("*.jsonl"))}


def _training_detail(contents: Contents) -> str:
    try:
        batches = (
            "batches" if can_pack(contents) else "no batches: the rows or the tokenizer are not available"
        )
    except DataError:
        batches = "no batches"
    return f"learning rates, steps, tokens, speeds, times, devices, log, {batches}"


def _evaluation_detail(contents: Contents) -> str:
    has_rows = any(fnmatchcase(path, "dataset/*.jsonl") for path in contents.bundle.sizes)
    overlap = (
        "overlap with the training rows" if has_rows else "no overlap check: the rows are not in the bundle"
    )
    return f"request, weights, times and eval set; {overlap}"
