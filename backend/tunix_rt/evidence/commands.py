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
from tunix_rt.evidence.pack import PackedEvidence, PackRequest, pack_evidence
from tunix_rt.evidence.page import verdict_page
from tunix_rt.evidence.reader import TYPES, schema_text
from tunix_rt.evidence.replay import Replay
from tunix_rt.evidence.service import list_evidence
from tunix_rt.evidence.types import EvidenceVerdict
from tunix_rt.evidence.verify import verify_evidence
from tunix_rt.models.register import run_by_id_or_path
from tunix_rt.runs.views import TrainingView

_FAILED_STYLE = "bold red"


def print_packed(packed: PackedEvidence) -> None:
    """What was packed, and how to verify it."""
    manifest = packed.manifest
    say(manifest.headline)
    say(f"{counted(len(manifest.files), 'file')}, {manifest.size_bytes:,} bytes, all verified")
    if manifest.left_out:
        say(f"{counted(len(manifest.left_out), 'file')} of the run left out, listed in evidence.json")
    say(f"bundle        {packed.path}")
    say(f"content hash  {manifest.content_hash}")
    say(f"verify it with: tunix-rt evidence verify {packed.path}")


def print_verdict(verdict: EvidenceVerdict) -> None:
    """One line per check, then the problems and the verdict."""
    print_table(
        ["check", "status", "details"],
        [(check.title, check.status, check.detail) for check in verdict.checks],
    )
    for check in verdict.checks:
        if check.status != "failed":
            continue
        out.print(f"\nfailed: {check.title}", style=_FAILED_STYLE, markup=False, highlight=False)
        for problem in check.problems:
            say(f"- {problem.detail}")
        if check.num_problems > len(check.problems):
            say(f"- and {check.num_problems - len(check.problems):,} more")
        for next_step in dict.fromkeys(filter(None, (problem.next_step for problem in check.problems))):
            say(f"  next: {next_step}")
    if verdict.manifest is not None:
        # The headline of an invalid bundle is not printed: it could be quoted.
        say(f"\n{verdict.manifest.headline if verdict.passed else 'Do not trust this bundle.'}")
        say(f"content hash {verdict.manifest.content_hash}")
    shown = f": {', '.join(verdict.shown)}" if verdict.shown else ""
    word, style = (f"VERIFIED{shown}", "green") if verdict.passed else ("NOT VERIFIED", _FAILED_STYLE)
    out.print(word, style=style, markup=False, highlight=False)


Run = Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, or its directory.")]
To = Annotated[
    Path | None,
    typer.Option("--to", metavar="DIR", help="Directory of the bundle. Default: one in the home directory."),
]
Zip = Annotated[bool, typer.Option("--zip", help="Write DIR.zip instead of DIR.")]
FailureReport = Annotated[bool, typer.Option("--failure-report", help="Pack a run that did not succeed.")]
WithModel = Annotated[bool, typer.Option("--with-model", help="Include the trained weights.")]
WithoutDataset = Annotated[
    bool, typer.Option("--without-dataset", help="Leave out the rows and keep their hashes.")
]
SignWith = Annotated[
    Path | None,
    typer.Option("--sign-with", metavar="KEY", help="PEM file of the elliptic-curve key to sign with."),
]
BundlePath = Annotated[Path, typer.Argument(metavar="DIR|ZIP", help="Bundle to verify.")]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Also write the verdict as an HTML page.")
]
ReplaySteps = Annotated[
    int | None,
    typer.Option(
        "--replay", min=1, metavar="N", help="Train the first N steps again and compare the losses."
    ),
]
Device = Annotated[DeviceName, typer.Option(help="Device for --replay. auto: the kind the run used.")]
PublicKey = Annotated[
    Path | None,
    typer.Option("--public-key", metavar="FILE", help="PEM file of the expected signer's public key."),
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
    """Pack a run into an evidence bundle and verify it. See docs/evidence.md."""
    settings = load_settings()
    request = PackRequest(
        run_dir=run_by_id_or_path(settings, run),
        to=to,
        is_zip=is_zip,
        is_failure_report=failure_report,
        has_model=with_model,
        has_dataset=not without_dataset,
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
    """Verify a bundle: hash, validate, recompute and rescore everything. Exit 1 if any check fails."""
    with TrainingView(err) as view:
        again = None if replay is None else Replay(replay, _train, view, device)
        evalsets_dir = load_settings().evalsets_dir
        verdict = verify_evidence(bundle, public_key=public_key, replay=again, evalsets_dir=evalsets_dir)
    if html is not None:
        with write_atomically(html, what="writing the verdict") as file:
            file.write(verdict_page(verdict).encode())
    print_json(verdict.to_json()) if as_json else print_verdict(verdict)
    if not verdict.passed:
        raise typer.Exit(1)


def list_bundles(
    limit: Annotated[int, typer.Option(min=1, help="Number of bundles to show.")] = 20,
    as_json: JsonFlag = False,
) -> None:
    """List the bundles in the home directory, newest first."""
    found = list_evidence(load_settings(), run_id=None, limit=limit, offset=0)
    if as_json:
        print_json(found.to_json())
        return
    if not found.data and not found.damaged:
        say("No evidence yet. Pack a run: tunix-rt evidence pack RUN")
        return
    rows = [
        (row.evidence_id, row.kind, f"{row.created_at:%Y-%m-%d %H:%M}", f"{row.size_bytes:,}", row.headline)
        for row in found.data
    ]
    print_table(["id", "kind", "packed (UTC)", "bytes", "result"], rows)
    for name in found.damaged:
        say(f"{name} was changed after it was packed; tunix-rt evidence verify lists the changes")
    if found.pagination.next_offset is not None:
        say(f"{len(found.data)} of {found.pagination.total:,}; --limit shows more")


def _train(engine: str, job: TrainingJob, view: View) -> RunManifest:
    requested: RequestedEngine = next((name for name in get_args(EngineName) if name == engine), "auto")
    return run_training(load_engine(chosen_engine(requested, job.device.name)), job, view)


def schema(
    name: Annotated[str | None, typer.Argument(help="Of the schema. Default: list the names.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Print the JSON Schema of a bundle file."""
    if name is None:
        print_json(sorted(TYPES)) if as_json else say("\n".join(sorted(TYPES)))
    elif name in TYPES:
        say(schema_text(name).rstrip())
    else:
        raise NotFoundError(f"There is no schema {name!r}.", next_step=f"Choose one of: {', '.join(TYPES)}.")
