"""`tunix-rt evidence`: pack what proves a run, and check what others packed."""

from pathlib import Path
from typing import Annotated, get_args

import typer

from tunix_rt.base.errors import NotFoundError
from tunix_rt.base.files.atomic import write_atomically
from tunix_rt.base.settings import load_settings
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import err, print_json, say
from tunix_rt.cli.evidence_view import print_bundles, print_packed, print_verdict
from tunix_rt.engines.load import chosen_engine, load_engine
from tunix_rt.engines.select import AskedEngine
from tunix_rt.engines.training.job import TrainingJob
from tunix_rt.engines.training.records import View
from tunix_rt.engines.training.run import run as run_training
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.engines.types import DeviceName, EngineName
from tunix_rt.runs.views import TrainingView
from tunix_rt.services.evidence.gathering import Wanted
from tunix_rt.services.evidence.listing import list_evidence
from tunix_rt.services.evidence.packing import PackRequest, pack_evidence, run_by_id_or_path
from tunix_rt.services.evidence.page import verdict_page
from tunix_rt.services.evidence.replaying import Replay
from tunix_rt.services.evidence.schemas import TYPES, schema_text
from tunix_rt.services.evidence.verifying import VerifyOptions, verify_evidence

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
    asked: AskedEngine = next((name for name in get_args(EngineName) if name == engine), "auto")
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
