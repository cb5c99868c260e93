"""tunix-rt doctor, backup, restore, tokens, demo."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.assets import shipped_recipe_path
from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.home import opened_home
from tunix_rt.base.settings import load_settings
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import counted, err, note, print_json, print_table, say
from tunix_rt.engines.load import chosen_engine, load_engine
from tunix_rt.engines.parity.check import certify_parity, measure_determinism
from tunix_rt.engines.parity.runs import ComparisonRequest
from tunix_rt.evaluation.views import EvaluationBar
from tunix_rt.runs.views import TrainingView
from tunix_rt.system.access import adopt_token, create_token, token_status
from tunix_rt.system.backup import make_backup, restore_backup
from tunix_rt.system.demo import (
    DEMO_DEVICE,
    Stage,
    build_demo_dataset,
    demo_result,
    evaluate_demo_model,
    plan_demo_training,
)
from tunix_rt.system.doctor import diagnose
from tunix_rt.system.store import TokenRepository
from tunix_rt.system.types import ApiToken, BackupManifest, Scope
from tunix_rt.system.views import (
    print_certificate,
    print_data,
    print_determinism,
    print_diagnosis,
    print_end,
    print_plan,
    print_result,
)

BackupFile = Annotated[Path, typer.Argument(metavar="FILE", help="The backup, a zip file.")]
WithCheckpoints = Annotated[
    bool,
    typer.Option("--with-checkpoints", help="Include checkpoints of unfinished runs; may be large."),
]
HomeOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Home to restore into. Default: TUNIX_RT_HOME.")
]


def backup(file: BackupFile, with_checkpoints: WithCheckpoints = False, as_json: JsonFlag = False) -> None:
    """Back up the database and the home into one file, without stopping anything. See docs/operations.md."""
    with opened_home() as opened, err.status("reading the database") as status:
        manifest = make_backup(opened, file, with_checkpoints=with_checkpoints, on_file=status.update)
    _report(manifest, f"{file} contains", as_json=as_json)


def restore(file: BackupFile, home: HomeOption = None, as_json: JsonFlag = False) -> None:
    """Restore a backup into an empty home and an empty database of either kind; every hash is checked."""
    settings = load_settings()
    if home is not None:
        settings = settings.model_copy(update={"home": home})
    with err.status("checking the backup") as status:
        manifest = restore_backup(settings, file, on_file=status.update)
    _report(manifest, f"Restored {settings.home_dir}:", as_json=as_json)


def _report(manifest: BackupManifest, what: str, *, as_json: bool) -> None:
    if as_json:
        print_json(manifest.to_json())
        return
    tables = f"{counted(manifest.num_rows, 'row')} of {counted(len(manifest.tables), 'table')}"
    files = f"{counted(len(manifest.files), 'file')}, {manifest.size_bytes / 2**20:,.1f} MiB"
    say(f"{what} {tables} and {files}.")
    if not manifest.has_checkpoints:
        say("Checkpoints are not included: an unfinished run would start over.")


STAGES: dict[Stage, str] = {
    "collect": "1/10 collecting worked arithmetic traces",
    "check": "2/10 checking every step of every trace",
    "plant": "3/10 planting wrong steps to see whether the check finds them",
    "build": "4/10 building the dataset: duplicates, splits, contamination",
    "verify": "5/10 hashing the dataset again",
    "xray": "6/10 inspecting what training will see",
}

SmokeSteps = Annotated[
    int | None,
    typer.Option(min=1, help="Train for this many steps only, to check that everything runs."),
]


def demo(smoke_steps: SmokeSteps = None, as_json: JsonFlag = False) -> None:
    """Train a small model on shipped traces and test it before and after. Exit 1 when a check fails.

    With --json, the last line has `before` and `after` (accuracy), `num_items`, `interval` (95 %, of after),
    `seconds` and `run_dir`.
    """
    start_s = time.monotonic()
    engine = load_engine(chosen_engine("auto", DEMO_DEVICE))
    with opened_home() as opened:
        data = build_demo_dataset(opened, on_stage=lambda stage: note(STAGES[stage]))
        if not as_json:
            print_data(data)
        note("7/10 planning the training")
        training = plan_demo_training(opened.settings, smoke_steps=smoke_steps)
        recipe = training.resolved.recipe
        if not as_json:
            print_plan(training.plan)
        note("8/10 evaluating the untrained model on the held-out questions")
        with EvaluationBar(err) as bar:
            before = evaluate_demo_model(opened, engine, recipe, bar)
        note("9/10 training a tiny Gemma; Ctrl-C saves and stops")
        with TrainingView(err) as view:
            manifest = training.run(engine, view)
        if manifest.status != "succeeded":
            note(f"Demo stopped: the run in {training.run_dir.path} is {manifest.status}.")
            raise typer.Exit(manifest.exit_code or 1)
        note("10/10 evaluating the trained model on the same questions")
        with EvaluationBar(err) as bar:
            after = evaluate_demo_model(opened, engine, recipe, bar, run_dir=training.run_dir)
        result = demo_result(opened, before, after)
    passed = data.passed and (result.has_learned or smoke_steps is not None)
    seconds = time.monotonic() - start_s
    if as_json:
        first, last = result.accuracies
        print_json(
            {
                "before": first.value,
                "after": last.value,
                "num_items": last.n,
                "interval": [last.low, last.high],
                "seconds": round(seconds, 1),
                "run_dir": str(training.run_dir.path),
                "passed": passed,
                "evaluations": [result.before.to_json(), result.after.to_json()],
                "difference": result.difference.to_json(),
                "data": data.model_dump(mode="json"),
                "plan": training.plan.model_dump(mode="json", exclude_none=True),
                "run": manifest.to_json(),
            }
        )
    else:
        print_result(manifest, training.run_dir.path, result, seconds=seconds)
        print_end(result, passed=passed, is_smoke=smoke_steps is not None)
    if not passed:
        raise typer.Exit(1)


_DEFAULT_STEPS = 20
_DEFAULT_RECIPE = "smoke_tiny"

Recipe = Annotated[
    Path | None,
    typer.Argument(
        metavar="[RECIPE]", help=f"Recipe of --determinism. Default: the shipped {_DEFAULT_RECIPE}."
    ),
]
Determinism = Annotated[
    bool, typer.Option("--determinism", help="Train twice with every engine on every device and compare.")
]
Parity = Annotated[
    Path | None,
    typer.Option(metavar="RECIPE", help="Train this recipe with both engines on the CPU and compare them."),
]
Dataset = Annotated[str | None, typer.Option(help="Key of the training dataset. Default: the recipe's.")]
Steps = Annotated[int | None, typer.Option(min=1, help=f"Training steps. Default: {_DEFAULT_STEPS}.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe; repeatable."),
]


def doctor(
    recipe: Recipe = None,
    parity: Parity = None,
    determinism: Determinism = False,
    dataset: Dataset = None,
    steps: Steps = None,
    sets: Set = None,
    as_json: JsonFlag = False,
) -> None:
    """Check devices, engines, extras, home and database. Exit 1 when something installed is broken.

    With --parity: train from the same weights on the same batches with both engines, and store a certificate.
    Exit 1 when their losses or weights differ by more than its bounds. See docs/torch-engine.md.

    With --determinism: train the same run twice, and compare losses and weights bit for bit.
    Exit 1 when they differ on a CPU. See docs/training.md for accelerators.
    """
    _check_options(recipe, parity, determinism, [dataset, steps, sets])
    settings, num_steps, changes = load_settings(), steps or _DEFAULT_STEPS, tuple(sets or ())
    if parity is not None:
        with err.status("starting") as status:
            asked = ComparisonRequest(parity, dataset, num_steps, changes)
            certificate, path = certify_parity(settings, asked, on_stage=status.update)
        if as_json:
            print_json({"path": str(path), **certificate.to_json()})
        else:
            print_certificate(certificate, path)
        passed = certificate.passed
    elif determinism:
        with err.status("starting") as status:
            recipe = recipe or shipped_recipe_path(_DEFAULT_RECIPE)
            request = ComparisonRequest(recipe, dataset, num_steps, changes)
            report = measure_determinism(settings, request, on_stage=status.update)
        print_json(report.to_json()) if as_json else print_determinism(report)
        passed = report.passed
    else:
        with err.status("probing the engines"):
            diagnosis = diagnose(settings)
        print_json(diagnosis.to_json()) if as_json else print_diagnosis(diagnosis)
        passed = not diagnosis.problems
    if not passed:
        raise typer.Exit(1)


def _check_options(recipe: Path | None, parity: Path | None, determinism: bool, flags: list[object]) -> None:
    if parity is not None and determinism:
        raise InvalidInputError(
            "--parity and --determinism cannot be combined.", next_step="Run one after the other."
        )
    if recipe is not None and not determinism:
        raise InvalidInputError(
            "A recipe is only used with --parity or --determinism.",
            next_step=f"Write: --parity {recipe}, or: --determinism {recipe}",
        )
    if any(flags) and parity is None and not determinism:
        raise InvalidInputError(
            "--dataset, --steps and --set only apply to --parity and --determinism.",
            next_step="Add --parity RECIPE, or --determinism.",
        )


Name = Annotated[str, typer.Argument(metavar="NAME", help="Owner or purpose of the token.")]
ScopeOption = Annotated[
    Scope,
    typer.Option(help="read: view data, query models; write: also submit, change; admin: also delete."),
]
Days = Annotated[int | None, typer.Option(min=1, max=3650, help="Days until it expires. Default: never.")]
FromFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Register the token in this file; repeating it changes nothing."),
]


def create(
    name: Name,
    scope: ScopeOption = "read",
    days: Days = None,
    from_file: FromFile = None,
    as_json: JsonFlag = False,
) -> None:
    """Create a token. It is printed once, and only its hash is stored. See docs/security.md."""
    lifetime = None if days is None else timedelta(days=days)
    with opened_home() as home:
        tokens = TokenRepository(home.database)
        if from_file is not None:
            adopted = adopt_token(tokens, from_file, name, scope, lifetime=lifetime)
            print_json(adopted.to_json()) if as_json else say(f"The token {adopted.token_id} is accepted.")
            return
        created, token = create_token(tokens, name, scope, lifetime=lifetime)
    if as_json:
        print_json({"token": token, **created.to_json()})
        return
    note(f"Token {created.token_id} ({created.scope}); save it now, it is not shown again:")
    say(token)


def list_(as_json: JsonFlag = False) -> None:
    """List the tokens with their scope and last use."""
    with opened_home() as home:
        found = TokenRepository(home.database).list()
    if as_json:
        print_json({"data": [{**token.to_json(), "standing": token_status(token)} for token in found]})
    elif found:
        rows = [
            (token.token_id, token.name, token.scope, token_status(token), *_moments(token))
            for token in found
        ]
        print_table(("id", "name", "scope", "status", "created", "expires", "last used"), rows)
    else:
        say("There are no tokens yet. Create one: tunix-rt tokens create NAME --scope read")


def _moments(token: ApiToken) -> list[str | None]:
    moments = (token.created_at, token.expires_at, token.last_used_at)
    return [None if moment is None else f"{moment:%Y-%m-%d %H:%M}" for moment in moments]


def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="Id from `tunix-rt tokens list`.")],
    as_json: JsonFlag = False,
) -> None:
    """Revoke a token. Running servers refuse it within seconds."""
    with opened_home() as home:
        revoked = TokenRepository(home.database).revoke(token_id, datetime.now(UTC))
    print_json(revoked.to_json()) if as_json else say(f"Revoked the token {token_id}.")
