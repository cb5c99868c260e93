"""tunix-rt evidence."""

from pathlib import Path
from typing import Annotated, get_args

import typer

from tunix_rt.base.errors import NotFoundError
from tunix_rt.base.files.atomic import write_atomically
from tunix_rt.base.settings import load_settings
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import counted, err, out, print_json, print_table, say
from tunix_rt.engines.load import chosen_engine, load_engine
from tunix_rt.engines.select import RequestedEngine
from tunix_rt.engines.training.job import TrainingJob
from tunix_rt.engines.training.records import View
from tunix_rt.engines.training.run import run as run_training
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.engines.types import DeviceName, EngineName
from tunix_rt.evidence.pack import PackedEvidence, PackRequest, Wanted, pack_evidence, run_by_id_or_path
from tunix_rt.evidence.page import verdict_page
from tunix_rt.evidence.reader import TYPES, schema_text
from tunix_rt.evidence.replay import Replay
from tunix_rt.evidence.service import EvidenceList, list_evidence
from tunix_rt.evidence.types import Check, EvidenceVerdict
from tunix_rt.evidence.verify import VerifyOptions, verify_evidence
from tunix_rt.runs.views import TrainingView

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


Run = Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, or its directory.")]
To = Annotated[
    Path | None,
    typer.Option("--to", metavar="DIR", help="The bundle's directory. Default: one in the home directory."),
]
Zip = Annotated[bool, typer.Option("--zip", help="Write DIR.zip in place of DIR.")]
FailureReport = Annotated[
    bool, typer.Option("--failure-report", help="Pack a run that did not succeed, and say so on its face.")
]
WithModel = Annotated[bool, typer.Option("--with-model", help="Put the trained weights in.")]
WithoutDataset = Annotated[
    bool, typer.Option("--without-dataset", help="Leave the rows out; their hashes stay.")
]
SignWith = Annotated[
    Path | None,
    typer.Option("--sign-with", metavar="KEY", help="PEM file of an elliptic-curve key that signs it."),
]
BundlePath = Annotated[Path, typer.Argument(metavar="DIR|ZIP", help="A bundle.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the verdict as a page too.")]
ReplaySteps = Annotated[
    int | None,
    typer.Option("--replay", min=1, metavar="N", help="Train the first N steps again and compare."),
]
Device = Annotated[DeviceName, typer.Option(help="Where to replay. auto: the kind that the run had.")]
PublicKey = Annotated[
    Path | None,
    typer.Option("--public-key", metavar="FILE", help="PEM file of whoever must have signed it."),
]


def pack(
    run: Run,
    to: To = None,
    is_zip: Zip = False,
    failure_report: FailureReport = False,
    with_model: WithModel = False,
    without_dataset: WithoutDataset = False,
    sign_with: SignWith = None,
    as_json: JsonFlag = False,
) -> None:
    """Gather what proves a run and check all of it; what is missing is named. docs/evidence.md explains."""
    settings = load_settings()
    request = PackRequest(
        run_dir=run_by_id_or_path(settings, run),
        to=to,
        is_zip=is_zip,
        is_failure_report=failure_report,
        wanted=Wanted(has_model=with_model, has_dataset=not without_dataset),
        private_key=sign_with,
    )
    packed = pack_evidence(settings, request)
    if as_json:
        print_json({"path": str(packed.path), **packed.manifest.to_json()})
    else:
        print_packed(packed)


def verify(
    bundle: BundlePath,
    html: Html = None,
    replay: ReplaySteps = None,
    device: Device = "auto",
    public_key: PublicKey = None,
    as_json: JsonFlag = False,
) -> None:
    """Hash, read, recompute and score everything again. Exit 1 when anything does not hold."""
    with TrainingView(err) as view:
        again = None if replay is None else Replay(replay, _train, view, device)
        verdict = verify_evidence(bundle, VerifyOptions(public_key=public_key, replay=again))
    if html is not None:
        with write_atomically(html, what="writing the verdict") as file:
            file.write(verdict_page(verdict).encode())
    print_json(verdict.to_json()) if as_json else print_verdict(verdict)
    if not verdict.passed:
        raise typer.Exit(1)


def list_bundles(
    limit: Annotated[int, typer.Option(min=1, help="Newest ones.")] = 20, as_json: JsonFlag = False
) -> None:
    """List the bundles of the home directory, newest first."""
    found = list_evidence(load_settings(), run_id=None, limit=limit, offset=0)
    print_json(found.to_json()) if as_json else print_bundles(found)


def _train(engine: str, job: TrainingJob, view: View) -> RunManifest:
    asked: RequestedEngine = next((name for name in get_args(EngineName) if name == engine), "auto")
    return run_training(load_engine(chosen_engine(asked, job.device.name)), job, view)


def schema(
    name: Annotated[str | None, typer.Argument(help="Of the schema. Default: list the names.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Print the JSON Schema of a file of a bundle."""
    if name is None:
        print_json(sorted(TYPES)) if as_json else say("\n".join(sorted(TYPES)))
    elif name in TYPES:
        say(schema_text(name).rstrip())
    else:
        raise NotFoundError(f"There is no schema {name!r}.", next_step=f"Choose one of: {', '.join(TYPES)}.")
