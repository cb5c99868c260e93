"""Stages of a session; the notebook file."""

import json
import re
import shlex
from collections.abc import Iterator
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
from tunix_rt.engines.weights.sources import with_absolute_paths
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


def _cell(name: str, kind: Literal["markdown", "code"], text: str) -> dict[str, Any]:
    """A notebook cell; its id has only letters, digits and dashes."""
    lines = text.splitlines(keepends=True)
    shared = {"cell_type": kind, "id": name, "metadata": {}, "source": lines}
    return shared if kind == "markdown" else shared | {"execution_count": None, "outputs": []}


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
class _Stages:
    """The steps of a session that trains on a dataset: title, purpose and command of each."""

    request: NotebookRequest
    session: SessionPlan

    def before_training(self, dataset: str) -> Iterator[tuple[str, str, str]]:
        request = self.request
        extras = machine_of(request.target).extra + (",kaggle" if request.model else "")
        package = request.package or f"tunix-rt[{extras}]=={__version__}"
        install = _shell("pip", "install", "--quiet", package)
        yield "Install", "The package, with JAX for this accelerator.", install
        recipe = f"%%writefile {self._recipe_file}\n{request.recipe_text.rstrip()}"
        yield "Recipe", "The recipe to train, embedded in the notebook.", recipe
        if request.data_file is not None:
            name, _, version = dataset.rpartition("-")
            key = ["--name", name, "--version", version]
            ingest = _shell("tunix-rt", "data", "ingest", request.data_file, *key)
            yield "Data", "The rows of the recipe's dataset.", ingest
        if request.continues_from is not None:
            before = str(INPUT / slug_of(request.continues_from) / "runs")
            fetch = _shell("cp", "--recursive", before, str(self._directory))
            yield "Go on", "The checkpoints of the previous session.", fetch
        doctor = _shell("tunix-rt", "doctor")
        yield "Doctor", "Devices, engines, home and disk of this machine.", doctor
        more = ["--on", request.target, "--hours", f"{request.hours:g}"]
        more += ["--sessions", str(self.session.num_sessions), *self._limits_and_sets]
        more += ["--fast"] if request.is_smoke else []
        preflight = _shell("tunix-rt", "kaggle", "preflight", self._recipe_file, *more)
        yield "Preflight", "Whether the machine matches the plan and the recipe fits.", preflight

    def from_smoke_run(self) -> Iterator[tuple[str, str, str]]:
        device = ["--engine", "jax", "--device", machine_of(self.request.target).device]
        more = ["--smoke-steps", str(_SMOKE_STEPS), "--set", f"training.batch_size={_SMOKE_ROWS}"]
        smoke = _shell("tunix-rt", "train", "smoke_tiny", *device, *more)
        yield "Smoke", "Two steps of a tiny model, to check that everything works.", smoke
        run, stop_after = str(self._directory / "runs" / "full"), _duration(self.session.stop_after_s)
        more = ["--output", run, "--resume", "--stop-after", stop_after, *self._limits_and_sets]
        if self.session.save_every_steps is not None:
            more += ["--set", f"output.save_every_steps={self.session.save_every_steps}"]
        why = (
            f"Stops by itself within {stop_after}. Exit code 7 means out of time: all state "
            "is saved, and the next session continues from there."
        )
        yield "Training", why, _shell("tunix-rt", "train", self._recipe_file, *device, *more)
        more = ["--limit", "4", "--max-new-tokens", "32"] if self.request.is_smoke else []
        evaluation = _shell("tunix-rt", "eval", run, "--eval-set", self.request.eval_set, *device, *more)
        yield "Evaluation", "Scores of the model, with every completion.", evaluation
        kept = PurePosixPath() if self.request.target == LOCAL else WORKING
        pack = _shell("tunix-rt", "evidence", "pack", run, "--with-model", "--to", str(kept / "evidence"))
        yield "Evidence", "Packed, verified, and kept with the weights.", pack

    @property
    def _recipe_file(self) -> str:
        return f"{self.request.recipe_name}.yaml"

    @property
    def _directory(self) -> PurePosixPath:
        return PurePosixPath() if self.request.target == LOCAL else self.session.directory

    @property
    def _limits_and_sets(self) -> list[str]:
        limits = ["--smoke-steps", str(_SMOKE_STEPS)] if self.request.is_smoke else []
        model = (f"model.name={self.request.model}",) if self.request.model else ()
        return [*limits, *(word for change in (*self.request.sets, *model) for word in ("--set", change))]


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
    recipe = with_absolute_paths(load_recipe(recipe_path, sets=list(request.sets))).recipe
    dataset = _dataset_there(recipe, request)
    options = PlanOptions(is_fast=is_fast, session_seconds=request.hours * 3600)
    plan = plan_recipe(settings, recipe, find_target(request.target), options, progress)
    if not plan.fits:
        raise DoesNotFitError(plan.reason, next_step=f"{advice_of(plan)}The notebook was not written.")
    session = plan_session(recipe, plan, request.hours * 3600)
    cells = [_cell("title", "markdown", _headline(request))]
    stages = _Stages(request, session)
    for title, why, code in (*stages.before_training(dataset), *stages.from_smoke_run()):
        name = title.lower().replace(" ", "-")
        cells += [_cell(f"{name}-heading", "markdown", f"## {title}\n\n{why}"), _cell(name, "code", code)]
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        METADATA_KEY: {
            "recipe": request.recipe_name,
            "target": request.target,
            "machine_shape": machine.machine_shape or "",
            "kernel_sources": [request.continues_from] if request.continues_from else [],
        },
    }
    notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return WrittenNotebook(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", plan, session)


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
