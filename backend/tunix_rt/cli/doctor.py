"""`tunix-rt doctor`: what works on this machine, and whether engines train the same, both or one twice."""

from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.assets import shipped_recipe_path
from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.settings import load_settings
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import err, print_json
from tunix_rt.cli.determinism_view import print_determinism
from tunix_rt.cli.doctor_view import print_certificate, print_diagnosis
from tunix_rt.engines.parity.check import (
    DeterminismRequest,
    ParityRequest,
    certify_parity,
    measure_determinism,
)
from tunix_rt.services.doctor import examine

_DEFAULT_STEPS = 20
_DEFAULT_RECIPE = "smoke_tiny"

Recipe = Annotated[
    Path | None,
    typer.Argument(
        metavar="[RECIPE]", help=f"Recipe of --determinism. Default: the shipped {_DEFAULT_RECIPE}."
    ),
]
Determinism = Annotated[
    bool, typer.Option("--determinism", help="Train twice with every engine on every device, and compare.")
]
Parity = Annotated[
    Path | None,
    typer.Option(metavar="RECIPE", help="Train this recipe with both engines on the CPU, and compare them."),
]
Dataset = Annotated[
    str | None, typer.Option(help="Key of the dataset that is trained on. Default: the recipe's.")
]
Steps = Annotated[int | None, typer.Option(min=1, help=f"Steps that are trained. Default: {_DEFAULT_STEPS}.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change a key of the recipe that is trained; repeatable."
    ),
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
    """Look at devices, engines, extras, home and database. Exit 1: something that is installed is broken.

    With --parity: train from the same weights on the same batches with both engines, and keep a certificate.
    Exit 1: their losses or weights differ by more than its bounds. docs/torch-engine.md explains it.

    With --determinism: train the same run twice, and compare losses and weights bit for bit.
    Exit 1: they differ on a CPU. docs/training.md says what holds on accelerators.
    """
    _refuse_what_does_not_belong(recipe, parity, determinism, [dataset, steps, sets])
    num_steps, changes = steps or _DEFAULT_STEPS, tuple(sets or ())
    if parity is not None:
        _certify(ParityRequest(parity, dataset, num_steps, changes), as_json=as_json)
    elif determinism:
        path = recipe or shipped_recipe_path(_DEFAULT_RECIPE)
        _repeat(DeterminismRequest(path, dataset, num_steps, changes), as_json=as_json)
    else:
        _examine(as_json=as_json)


def _refuse_what_does_not_belong(
    recipe: Path | None, parity: Path | None, determinism: bool, flags: list[object]
) -> None:
    if parity is not None and determinism:
        raise InvalidInputError(
            "--parity and --determinism are two questions.", next_step="Ask one after the other."
        )
    if recipe is not None and not determinism:
        raise InvalidInputError(
            "A recipe is trained by --parity or --determinism.",
            next_step=f"Write: --parity {recipe}, or: --determinism {recipe}",
        )
    if any(flags) and parity is None and not determinism:
        raise InvalidInputError(
            "--dataset, --steps and --set belong to --parity and --determinism.",
            next_step="Add --parity RECIPE, or --determinism.",
        )


def _examine(*, as_json: bool) -> None:
    with err.status("asking the engines"):
        diagnosis = examine(load_settings())
    print_json(diagnosis.to_json()) if as_json else print_diagnosis(diagnosis)
    if diagnosis.problems:
        raise typer.Exit(1)


def _certify(request: ParityRequest, *, as_json: bool) -> None:
    with err.status("starting") as status:
        certificate, path = certify_parity(load_settings(), request, on_stage=status.update)
    if as_json:
        print_json({"path": str(path), **certificate.to_json()})
    else:
        print_certificate(certificate, path)
    if not certificate.passed:
        raise typer.Exit(1)


def _repeat(request: DeterminismRequest, *, as_json: bool) -> None:
    with err.status("starting") as status:
        report = measure_determinism(load_settings(), request, on_stage=status.update)
    print_json(report.to_json()) if as_json else print_determinism(report)
    if not report.passed:
        raise typer.Exit(1)
