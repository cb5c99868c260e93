"""Check a bundle: every byte, every schema, every figure, every verdict. Nothing of it is believed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from tunix_rt import __version__
from tunix_rt.core.errors import DataError
from tunix_rt.core.evidence.manifest import EvidenceManifest
from tunix_rt.core.evidence.verdict import (
    Check,
    CheckName,
    EvidenceVerdict,
    Problem,
    check_of,
    skipped,
)
from tunix_rt.files.evidence.bundle import Bundle, open_bundle
from tunix_rt.services.evidence.checks_contents import check_complete, check_contents
from tunix_rt.services.evidence.checks_figures import check_scores, metrics_problems
from tunix_rt.services.evidence.checks_files import (
    check_container,
    check_files,
    check_sums,
    not_looked_at,
    read_manifest,
)
from tunix_rt.services.evidence.checks_run import dataset_problems, run_problems
from tunix_rt.services.evidence.reading import Contents
from tunix_rt.services.evidence.signing import check_signature

_MAX_COUNTED = 1_000
_MANIFEST = "run_manifest.json"

Replay = Callable[[Bundle, EvidenceManifest], Check]
"""Trains the first steps again; given by whoever may load an engine."""


@dataclass(frozen=True)
class VerifyOptions:
    """How hard to look."""

    public_key: Path | None = None
    """Of whoever is said to have signed."""
    replay: Replay | None = None


def verify_evidence(path: Path, options: VerifyOptions | None = None) -> EvidenceVerdict:
    """The verdict on a directory or zip file. Memory does not grow with its size, and nothing is written.

    Raises:
        NotFoundError: There is nothing at `path`.
    """
    options = options or VerifyOptions()
    try:
        with open_bundle(path) as bundle:
            manifest, checks = _checks(bundle, options)
            name = bundle.name
    except DataError as error:
        problem = Problem(detail=error.detail, next_step=error.next_step)
        manifest, name = None, path.name
        checks = [check_of("container", path.name, [problem]), *not_looked_at()]
    return EvidenceVerdict(
        passed=all(check.status != "failed" for check in checks),
        checked_at=datetime.now(UTC),
        tunix_rt_version=__version__,
        bundle=name,
        manifest=manifest,
        checks=tuple(checks),
    )


def _checks(bundle: Bundle, options: VerifyOptions) -> tuple[EvidenceManifest | None, list[Check]]:
    checks = [check_container(bundle)]
    if checks[0].status == "failed":
        return None, [*checks, *not_looked_at()]
    manifest, check = read_manifest(bundle)
    checks.append(check)
    if manifest is None:
        return None, [*checks, *not_looked_at()]
    checks += [check_files(bundle, manifest), check_sums(bundle, manifest)]
    checks.append(check_signature(bundle, options.public_key))
    if any(check.status == "failed" for check in checks):
        return manifest, [*checks, *not_looked_at()]
    checks += content_checks(bundle, manifest)
    if options.replay is not None:
        checks.append(_replayed(options.replay, bundle, manifest, checks))
    return manifest, checks


def content_checks(bundle: Bundle, manifest: EvidenceManifest) -> list[Check]:
    """What the files say, once it is known that they are the packed ones."""
    contents = Contents(bundle)
    looks = _Looks(contents, manifest)
    return [
        check_complete(contents, manifest),
        check_contents(contents, manifest),
        looks.problems("run", run_problems, (_MANIFEST,)),
        looks.problems(
            "dataset", dataset_problems, (_MANIFEST, "dataset/manifest.json", "dataset/croissant.json")
        ),
        looks.problems("figures", metrics_problems, (_MANIFEST, "metrics.jsonl", *_of_success(manifest))),
        looks.check("scores", check_scores, ("evaluation.json", "evalset.jsonl", "predictions.jsonl")),
    ]


def _of_success(manifest: EvidenceManifest) -> tuple[str, ...]:
    return () if manifest.kind == "failure-report" else ("eval_summary.json", "evaluation.json")


def _replayed(replay: Replay, bundle: Bundle, manifest: EvidenceManifest, checks: list[Check]) -> Check:
    if any(check.status == "failed" for check in checks):
        return skipped("replay", "not trained again: the bundle does not hold")
    return replay(bundle, manifest)


_DETAILS: dict[CheckName, str] = {
    "run": "manifest, events, environment, evaluation and provenance",
    "dataset": "hashes, rows and Croissant",
    "figures": "losses, steps, memory and speed recomputed",
}


@dataclass(frozen=True)
class _Looks:
    """Makes checks where their files are there; whatever cannot be read fails them."""

    contents: Contents
    manifest: EvidenceManifest

    def problems(
        self,
        name: CheckName,
        find: Callable[[Contents, EvidenceManifest], Iterator[str]],
        needs: tuple[str, ...],
    ) -> Check:
        def made(contents: Contents) -> Check:
            found = [
                Problem(detail=problem) for problem in islice(find(contents, self.manifest), _MAX_COUNTED)
            ]
            return check_of(name, _DETAILS[name], found)

        return self.check(name, made, needs)

    def check(self, name: CheckName, look: Callable[[Contents], Check], needs: tuple[str, ...]) -> Check:
        missing = [path for path in needs if not self.contents.has(path)]
        if missing:
            return skipped(name, f"not looked at: {missing[0]} is missing")
        try:
            return look(self.contents)
        except DataError as error:
            problem = Problem(detail=error.detail, next_step=error.next_step)
            return check_of(name, "", [problem])
