"""`tunix-rt doctor`: what works on this machine, and whether both engines train the same."""

from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.cli.doctor_view import print_certificate, print_diagnosis
from tunix_rt.cli.output import JsonFlag, err, print_json
from tunix_rt.config.settings import load_settings
from tunix_rt.core.errors import InvalidInputError
from tunix_rt.services.doctor import examine
from tunix_rt.services.parity import ParityRequest, certify_parity

_DEFAULT_STEPS = 20

Parity = Annotated[
    Path | None,
    typer.Option(metavar="RECIPE", help="Train this recipe with both engines on the CPU, and compare them."),
]
Dataset = Annotated[str | None, typer.Option(help="Key of the dataset of --parity. Default: the recipe's.")]
Steps = Annotated[
    int | None, typer.Option(min=1, help=f"Steps that --parity trains for. Default: {_DEFAULT_STEPS}.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe of --parity; repeatable."),
]


def doctor(
    parity: Parity = None,
    dataset: Dataset = None,
    steps: Steps = None,
    sets: Set = None,
    as_json: JsonFlag = False,
) -> None:
    """Look at devices, engines, extras, home and database. Exit 1: something that is installed is broken.

    With --parity: train from the same weights on the same batches with both engines, and keep a certificate.
    Exit 1: their losses or weights differ by more than its bounds. docs/torch-engine.md explains it.
    """
    if parity is not None:
        request = ParityRequest(parity, dataset, steps or _DEFAULT_STEPS, tuple(sets or ()))
        _certify(request, as_json=as_json)
    elif dataset is not None or steps is not None or sets:
        raise InvalidInputError(
            "--dataset, --steps and --set belong to --parity.", next_step="Add --parity RECIPE."
        )
    else:
        _examine(as_json=as_json)


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
