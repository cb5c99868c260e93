"""Stages of a session; the notebook file."""

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from tunix_rt import __version__
from tunix_rt.base.assets import shipped_dataset_names
from tunix_rt.base.errors import DoesNotFitError, InvalidInputError
from tunix_rt.base.settings import Settings
from tunix_rt.engines.planning.fixes import advice_of
from tunix_rt.engines.planning.service import PlanOptions, PlanProgress, plan_recipe
from tunix_rt.engines.planning.targets import LOCAL, find_target
from tunix_rt.engines.planning.types import Plan
from tunix_rt.kaggle.session import INPUT, WORKING, SessionPlan, machine_of, plan_session
from tunix_rt.recipes.load import load_recipe
from tunix_rt.recipes.types import Recipe

_KERNEL = re.compile(r"[\w-]+/[a-z0-9][a-z0-9-]{4,49}")


def slug_of(kernel: str) -> str:
    """The second half of `owner/slug`.

    Raises:
        InvalidInputError: It is not the address of a notebook.
    """
    if not _KERNEL.fullmatch(kernel):
        raise InvalidInputError(
            f"{kernel!r} is not the address of a notebook.",
            next_step="Write OWNER/SLUG: at least five lowercase letters, digits and dashes, as in its URL.",
        )
    return kernel.partition("/")[2]


@dataclass(frozen=True)
class Cell:
    """A notebook cell."""

    id: str
    """Unique; letters, digits and dashes."""
    kind: Literal["markdown", "code"]
    text: str


def notebook_text(cells: Sequence[Cell], metadata: dict[str, Any]) -> str:
    """The JSON of a notebook file."""
    notebook = {
        "cells": [_cell(cell) for cell in cells],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            **metadata,
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _cell(cell: Cell) -> dict[str, Any]:
    shared = {
        "cell_type": cell.kind,
        "id": cell.id,
        "metadata": {},
        "source": cell.text.splitlines(keepends=True),
    }
    return shared if cell.kind == "markdown" else shared | {"execution_count": None, "outputs": []}


# IPython raises when a script of this magic exits with a non-zero code, which stops the notebook.
_SHELL = "%%bash"
_LINE_CHARS = 100
_SMOKE_STEPS = 2
_SMOKE_ROWS = 8
"""Divisible by the number of devices of every machine there."""


@dataclass(frozen=True)
class NotebookRequest:
    """What a notebook trains, and where."""

    recipe_name: str
    recipe_text: str
    target: str
    hours: float
    sets: tuple[str, ...] = ()
    eval_set: str = "eval_v2"
    model: str | None = None
    """Source of the model on Kaggle. None: as in the recipe."""
    package: str | None = None
    """Package to install. None: this version."""
    data_file: str | None = None
    """Path on Kaggle of the dataset's rows. None: the dataset is shipped."""
    continues_from: str | None = None
    """`owner/slug` of the notebook whose last session this one continues."""
    is_smoke: bool = False
    """Two steps of every stage, on any machine."""


@dataclass(frozen=True)
class Stage:
    """One step of the session."""

    title: str
    why: str
    code: str

    def cells(self) -> tuple[Cell, Cell]:
        """A heading and the command."""
        name = self.title.lower().replace(" ", "-")
        heading = Cell(f"{name}-heading", "markdown", f"## {self.title}\n\n{self.why}")
        return heading, Cell(name, "code", self.code)


def stages(request: NotebookRequest, session: SessionPlan, dataset: str) -> Iterator[Stage]:
    """The stages of a session that trains on a dataset."""
    build = _Commands(request, session)
    yield Stage("Install", "The package, with JAX for this accelerator.", build.install())
    yield Stage("Recipe", "The recipe to train, embedded in the notebook.", build.recipe())
    if request.data_file is not None:
        yield Stage("Data", "The rows of the recipe's dataset.", build.data(dataset))
    if request.continues_from is not None:
        yield Stage("Go on", "The checkpoints of the previous session.", build.fetch())
    yield Stage("Doctor", "Devices, engines, home and disk of this machine.", build.doctor())
    yield Stage("Preflight", "Whether the machine matches the plan and the recipe fits.", build.preflight())
    yield Stage("Smoke", "Two steps of a tiny model, to check that everything works.", build.smoke())
    yield Stage("Training", _training_text(session), build.training())
    yield Stage("Evaluation", "Scores of the model, with every completion.", build.evaluation())
    yield Stage("Evidence", "Packed, verified, and kept with the weights.", build.evidence())


def _training_text(session: SessionPlan) -> str:
    return (
        f"Stops by itself within {_duration(session.stop_after_s)}. Exit code 7 means out of time: all state "
        "is saved, and the next session continues from there."
    )


@dataclass(frozen=True)
class _Commands:
    """The command of each stage."""

    request: NotebookRequest
    session: SessionPlan

    def install(self) -> str:
        extras = machine_of(self.request.target).extra + (",kaggle" if self.request.model else "")
        package = self.request.package or f"tunix-rt[{extras}]=={__version__}"
        return _shell("pip", "install", "--quiet", package)

    def recipe(self) -> str:
        return f"%%writefile {self._recipe_file}\n{self.request.recipe_text.rstrip()}"

    def data(self, dataset: str) -> str:
        name, _, version = dataset.rpartition("-")
        more = ["--name", name, "--version", version]
        return _shell("tunix-rt", "data", "ingest", self.request.data_file or "", *more)

    def fetch(self) -> str:
        before = INPUT / slug_of(self.request.continues_from or "")
        return _shell("cp", "--recursive", str(before / "runs"), str(self._directory))

    def doctor(self) -> str:
        return _shell("tunix-rt", "doctor")

    def preflight(self) -> str:
        more = ["--on", self.request.target, "--hours", f"{self.request.hours:g}"]
        more += ["--sessions", str(self.session.num_sessions), *self._limits, *self._sets]
        more += ["--fast"] if self.request.is_smoke else []
        return _shell("tunix-rt", "kaggle", "preflight", self._recipe_file, *more)

    def smoke(self) -> str:
        more = ["--smoke-steps", str(_SMOKE_STEPS), "--set", f"training.batch_size={_SMOKE_ROWS}"]
        return _shell("tunix-rt", "train", "smoke_tiny", *self._device, *more)

    def training(self) -> str:
        more = ["--resume", "--stop-after", _duration(self.session.stop_after_s), *self._limits, *self._sets]
        if self.session.save_every_steps is not None:
            more += ["--set", f"output.save_every_steps={self.session.save_every_steps}"]
        return _shell(
            "tunix-rt", "train", self._recipe_file, *self._device, "--output", self._run("full"), *more
        )

    def evaluation(self) -> str:
        more = ["--limit", "4", "--max-new-tokens", "32"] if self.request.is_smoke else []
        evalset = ["--eval-set", self.request.eval_set]
        return _shell("tunix-rt", "eval", self._run("full"), *evalset, *self._device, *more)

    def evidence(self) -> str:
        to = str(self._kept / "evidence")
        return _shell("tunix-rt", "evidence", "pack", self._run("full"), "--with-model", "--to", to)

    @property
    def _recipe_file(self) -> str:
        return f"{self.request.recipe_name}.yaml"

    @property
    def _directory(self) -> PurePosixPath:
        return PurePosixPath() if self.request.target == LOCAL else self.session.directory

    @property
    def _kept(self) -> PurePosixPath:
        return PurePosixPath() if self.request.target == LOCAL else WORKING

    def _run(self, name: str) -> str:
        return str(self._directory / "runs" / name)

    @property
    def _device(self) -> list[str]:
        return ["--engine", "jax", "--device", machine_of(self.request.target).device]

    @property
    def _limits(self) -> list[str]:
        return ["--smoke-steps", str(_SMOKE_STEPS)] if self.request.is_smoke else []

    @property
    def _sets(self) -> list[str]:
        model = (f"model.name={self.request.model}",) if self.request.model else ()
        return [word for change in (*self.request.sets, *model) for word in ("--set", change)]


def _shell(*words: str) -> str:
    """A cell that runs one command: on one line if it fits, otherwise one option per line."""
    line = shlex.join(words)
    return f"{_SHELL}\n" + (line if len(line) <= _LINE_CHARS else line.replace(" --", " \\\n    --"))


def _duration(seconds: int) -> str:
    """As `--stop-after` takes it.

    Example:
        29700 -> "8h15m"
    """
    units = (("h", seconds // 3600), ("m", seconds % 3600 // 60), ("s", seconds % 60))
    return "".join(f"{count}{unit}" for unit, count in units if count) or "0s"


_SILENT = PlanProgress()
METADATA_KEY = "tunix_rt"
"""Key in the notebook's metadata for `kaggle push`."""


@dataclass(frozen=True)
class WrittenNotebook:
    """A notebook and its plan."""

    text: str
    plan: Plan
    session: SessionPlan


def write_notebook(
    settings: Settings,
    recipe_path: Path,
    request: NotebookRequest,
    *,
    is_fast: bool,
    progress: PlanProgress = _SILENT,
) -> WrittenNotebook:
    """Plan the recipe for the machine and write the notebook.

    Raises:
        DoesNotFitError: The recipe does not fit the machine.
        InvalidInputError: Kaggle has no such machine, or no such session.
    """
    machine = machine_of(request.target)
    if request.hours <= 0:
        raise InvalidInputError(
            "A session must be longer than 0 hours.", next_step="Pass --hours 9, or less."
        )
    recipe = load_recipe(recipe_path, sets=list(request.sets)).recipe
    dataset = _dataset_there(recipe, request)
    options = PlanOptions(is_fast=is_fast, session_seconds=request.hours * 3600)
    plan = plan_recipe(settings, recipe, find_target(request.target), options, progress)
    if not plan.fits:
        raise DoesNotFitError(plan.reason, next_step=f"{advice_of(plan)}The notebook was not written.")
    session = plan_session(recipe, plan, request.hours * 3600)
    cells = [Cell("title", "markdown", _headline(request))]
    cells += [cell for stage in stages(request, session, dataset) for cell in stage.cells()]
    metadata = {
        METADATA_KEY: {
            "recipe": request.recipe_name,
            "target": request.target,
            "machine_shape": machine.machine_shape or "",
            "kernel_sources": [request.continues_from] if request.continues_from else [],
        }
    }
    return WrittenNotebook(notebook_text(cells, metadata), plan, session)


def _dataset_there(recipe: Recipe, request: NotebookRequest) -> str:
    """The key of the dataset, if it is available on Kaggle."""
    key = recipe.data.dataset
    if key is None:
        raise InvalidInputError("The recipe names no dataset.", next_step="Add --set data.dataset=KEY.")
    if key not in shipped_dataset_names() and request.data_file is None:
        raise InvalidInputError(
            f"The dataset {key} is only on this machine.",
            next_step=f"Put the file of `tunix-rt data export {key}` into a dataset on Kaggle, and add "
            "--data /kaggle/input/SLUG/FILE.",
        )
    return key


def _headline(request: NotebookRequest) -> str:
    where = "this machine, two steps of every stage" if request.target == LOCAL else request.target
    return (
        f"# {request.recipe_name}: {where}\n\n"
        "Written by `tunix-rt kaggle notebook`. Every cell is one command; a failing one stops the notebook "
        "with its error."
    )
