"""Bundles and verdicts on a terminal."""

from tunix_rt.base.terminal.output import counted, out, print_table, say
from tunix_rt.core.evidence.verdict import Check, EvidenceVerdict
from tunix_rt.services.evidence.listing import EvidenceList
from tunix_rt.services.evidence.packing import PackedEvidence

_STYLES = {"passed": "green", "failed": "bold red", "skipped": "dim"}


def print_bundles(found: EvidenceList) -> None:
    """What was packed into the home directory."""
    if not found.data and not found.damaged:
        say("No evidence yet. Pack a run: tunix-rt evidence pack RUN")
        return
    rows = [
        (row.evidence_id, row.kind, f"{row.created_at:%Y-%m-%d %H:%M}", f"{row.size_bytes:,}", row.headline)
        for row in found.data
    ]
    print_table(["id", "kind", "packed (UTC)", "bytes", "what it comes to"], rows)
    for name in found.damaged:
        say(f"{name} was changed after it was packed: tunix-rt evidence verify shows what")
    if found.pagination.next_offset is not None:
        say(f"{len(found.data)} of {found.pagination.total:,}; --limit shows more")


def print_packed(packed: PackedEvidence) -> None:
    """What was packed, and how anyone checks it."""
    manifest = packed.manifest
    say(manifest.headline)
    say(f"{counted(len(manifest.files), 'file')}, {manifest.size_bytes:,} bytes, all checked")
    if manifest.left_out:
        say(f"{len(manifest.left_out)} files of the run are named in evidence.json and not in the bundle")
    say(f"bundle        {packed.path}")
    say(f"content hash  {manifest.content_hash}")
    say(f"anyone can check it: tunix-rt evidence verify {packed.path}")


def print_verdict(verdict: EvidenceVerdict) -> None:
    """One line a check, the problems, the answer."""
    print_table(
        ["check", "verdict", "what was looked at"],
        [(check.title, check.status, check.detail) for check in verdict.checks],
    )
    for check in verdict.checks:
        if check.status == "failed":
            _print_problems(check)
    if verdict.manifest is not None:
        # A claim that does not hold is not printed: somebody would quote it.
        say(f"\n{verdict.manifest.headline if verdict.passed else 'Do not believe this bundle.'}")
        say(f"content hash {verdict.manifest.content_hash}")
    word, style = ("VERIFIED", _STYLES["passed"]) if verdict.passed else ("NOT VERIFIED", _STYLES["failed"])
    out.print(word, style=style)


def _print_problems(check: Check) -> None:
    out.print(f"\nfailed: {check.title}", style=_STYLES["failed"], markup=False, highlight=False)
    for problem in check.problems:
        say(f"- {problem.detail}")
    if check.num_problems > len(check.problems):
        say(f"- and {check.num_problems - len(check.problems):,} more")
    for next_step in dict.fromkeys(filter(None, (problem.next_step for problem in check.problems))):
        say(f"  next: {next_step}")
