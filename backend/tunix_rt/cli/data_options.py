"""The options that describe a dataset, the same on `data build` and `data ingest`."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.records import explain_validation_error
from tunix_rt.core.dataset_spec import DatasetSpec

Name = Annotated[str, typer.Option("--name", help="Name of the dataset; its key is NAME-VERSION.")]
Version = Annotated[str, typer.Option("--version", help="Version of the dataset: v1, v2, …")]
OptionalName = Annotated[
    str | None, typer.Option("--name", help="Name of the dataset. Default: by the name of the file.")
]
OptionalVersion = Annotated[
    str | None,
    typer.Option("--version", help="Version of the dataset. Default: by the name of the file, else v1."),
]
RowLimit = Annotated[int | None, typer.Option("--limit", min=1, help="At most this many rows. Default: all.")]
Strategy = Annotated[str, typer.Option("--strategy", help="Which rows --limit keeps: latest or random.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Decides the splits and the random selection.")]
SplitPairs = Annotated[
    list[str],
    typer.Option(
        "--split",
        metavar="NAME=FRACTION",
        help="Fraction of the questions; repeatable. Default: train=0.9 validation=0.1.",
    ),
]
Dedup = Annotated[str, typer.Option("--dedup", help="Duplicates to remove: none, exact or near.")]
NearThreshold = Annotated[
    float, typer.Option("--near-threshold", min=0.5, max=1, help="Similarity of near-duplicates.")
]
MaxPerPrompt = Annotated[
    int | None, typer.Option("--max-per-prompt", min=1, help="At most this many solutions of one question.")
]
AllowContamination = Annotated[
    bool, typer.Option("--allow-contamination", help="Keep rows that an eval set asks too, on record.")
]
RemoveContaminated = Annotated[
    bool, typer.Option("--remove-contaminated", help="Leave out rows that an eval set asks too.")
]
Parent = Annotated[str | None, typer.Option("--parent", help="Key of the dataset that this one continues.")]
License = Annotated[str, typer.Option("--license", help="SPDX name of the licence of the rows.")]
Notes = Annotated[
    list[str], typer.Option("--note", metavar="KEY=VALUE", help="A note for the manifest; repeatable.")
]


def dataset_spec(*, splits: Sequence[str] = (), notes: Sequence[str] = (), **values: Any) -> DatasetSpec:
    """The spec that the options describe, or an error that names the bad one."""
    if splits:
        values["splits"] = {name: _fraction(name, text) for name, text in map(_pair, splits)}
    values["provenance"] = dict(map(_pair, notes))
    try:
        return DatasetSpec(**values)
    except ValidationError as error:
        raise InvalidInputError(
            f"This is not a dataset that can be built: {explain_validation_error(error)}.",
            next_step="Correct the option; `tunix-rt data build --help` describes them all.",
        ) from error


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals and value):
        raise InvalidInputError(
            f"{text!r} is not of the form NAME=VALUE.", next_step="For example: --split train=0.9"
        )
    return key, value


def _fraction(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InvalidInputError(
            f"The fraction of the split {name!r} is not a number: {text!r}.",
            next_step="For example: --split train=0.9 --split validation=0.1",
        ) from error
