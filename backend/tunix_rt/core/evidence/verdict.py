"""What checking a bundle comes to: one line a check, all problems, and one answer."""

from datetime import datetime
from typing import Literal

from tunix_rt.base.records import Record
from tunix_rt.core.evidence.manifest import EvidenceManifest

CheckName = Literal[
    "container", "manifest", "files", "sums", "complete", "contents", "run", "dataset", "figures", "scores",
    "signature", "replay",
]  # fmt: skip
CheckStatus = Literal["passed", "failed", "skipped"]

CHECK_TITLES: dict[CheckName, str] = {
    "container": "can be opened, and holds plain files only",
    "manifest": "evidence.json is whole and of a known version",
    "files": "every file is there and has the bytes that were packed",
    "sums": "SHA256SUMS says the same",
    "complete": "nothing that proves the run is missing",
    "contents": "every file follows its schema, without nulls or placeholders",
    "run": "what the run wrote agrees with itself",
    "dataset": "the rows are those that the run was given",
    "figures": "the figures follow from metrics.jsonl",
    "scores": "every answer, scored again from its raw text, gets the same verdict",
    "signature": "the signature is right",
    "replay": "the first steps, trained again, have the same losses",
}


class BundleProblem(Record):
    """Something that is wrong, and what to do about it."""

    detail: str
    next_step: str | None = None


class Check(Record):
    """One thing that was looked at."""

    name: CheckName
    status: CheckStatus
    detail: str
    """What was looked at, with counts; of a skipped check: why."""
    problems: tuple[BundleProblem, ...] = ()
    num_problems: int = 0
    """All of them; the first are listed."""

    @property
    def title(self) -> str:
        """What a pass means."""
        return CHECK_TITLES[self.name]


class VerifyProgress(Record):
    """How far the checking of a bundle is."""

    checks: tuple[Check, ...]
    """Those that are made."""
    num_bytes: int
    """Of the listed files, hashed so far."""
    total_bytes: int


class EvidenceVerdict(Record):
    """Whether a bundle can be believed."""

    verdict_version: Literal["1"] = "1"
    passed: bool
    checked_at: datetime
    tunix_rt_version: str
    """That checked it."""
    bundle: str
    """Name of the directory or zip file."""
    manifest: EvidenceManifest | None = None
    """Left out where it could not be read."""
    checks: tuple[Check, ...]

    @property
    def problems(self) -> tuple[BundleProblem, ...]:
        """Of all checks."""
        return tuple(problem for check in self.checks for problem in check.problems)


MAX_PROBLEMS = 20


def check_of(name: CheckName, detail: str, problems: list[BundleProblem]) -> Check:
    """A check that passed when it found no problems."""
    return Check(
        name=name,
        status="failed" if problems else "passed",
        detail=detail,
        problems=tuple(problems[:MAX_PROBLEMS]),
        num_problems=len(problems),
    )


def skipped(name: CheckName, reason: str) -> Check:
    """A check that was not made, and why."""
    return Check(name=name, status="skipped", detail=reason)
