"""The command line of `backend/tools/package_submission.py`: `tunix-rt evidence` by other flags."""

from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.settings import load_settings
from tunix_rt.base.terminal.output import say
from tunix_rt.cli.launchers import launch
from tunix_rt.evidence.commands import print_packed, print_verdict
from tunix_rt.evidence.pack import PackRequest, evidence_id, pack_evidence, run_by_id_or_path, zip_bundle
from tunix_rt.evidence.types import EVIDENCE_FILE
from tunix_rt.evidence.verify import verify_evidence

RunDirectory = Annotated[
    Path, typer.Option("--run-dir", metavar="DIR", help="Directory of a run, or of its evidence.")
]
Output = Annotated[Path, typer.Option("--output", metavar="DIR", help="Where the zip goes.")]
FailureReport = Annotated[
    bool, typer.Option("--failure-report", help="Package a run that did not succeed, and say so on its face.")
]


def package_submission_command(
    run_dir: RunDirectory, output: Output = Path("submission"), failure_report: FailureReport = False
) -> None:
    """Package a run, or evidence that was packed before, as one zip that was verified. Exit 1 if it fails."""
    if (run_dir / EVIDENCE_FILE).is_file():
        _package_bundle(run_dir, output)
        return
    settings = load_settings()
    found = run_by_id_or_path(settings, str(run_dir))
    request = PackRequest(
        found, to=output / evidence_id(found.run_id), is_zip=True, is_failure_report=failure_report
    )
    print_packed(pack_evidence(settings, request))


def _package_bundle(directory: Path, output: Path) -> None:
    verdict = verify_evidence(directory)
    print_verdict(verdict)
    if not verdict.passed:
        raise typer.Exit(1)
    assert verdict.manifest is not None  # nothing passes without it
    path = output / f"{verdict.manifest.evidence_id}.zip"
    zip_bundle(directory, path)
    say(f"packaged in {path}")


def package_submission() -> None:
    """Run the command line; an error becomes its message, its next step and its exit code."""
    launch(package_submission_command)
