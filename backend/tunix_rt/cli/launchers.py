"""The command lines of `training/train_jax.py` and `training_pt/train.py`: `tunix-rt train`, other flags."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer

from tunix_rt.base.errors import InvalidInputError, NotFoundError, TunixRTError
from tunix_rt.base.settings import load_settings
from tunix_rt.base.terminal.output import note, print_error
from tunix_rt.datasets.evalsets import open_evalset
from tunix_rt.engines.types import DeviceRequest, EngineName
from tunix_rt.evaluation.commands import evaluate_and_show
from tunix_rt.evaluation.evaluate import EvaluationRequest
from tunix_rt.evaluation.scoring.checkers.check import require_checkers
from tunix_rt.recipes.load import Flag
from tunix_rt.runs.commands.train import TrainRequest, parse_resume_from, resolve, run_request

DEFAULT_EVAL_SET = "eval_v2"

Config = Annotated[Path, typer.Option("--config", help="Recipe (YAML).")]
Output = Annotated[Path, typer.Option("--output", help="Directory of the run.")]
Dataset = Annotated[str | None, typer.Option("--dataset", help="Key of the dataset.")]
Data = Annotated[
    Path | None, typer.Option("--data", help="File of traces to train on, in place of --dataset.")
]
Device = Annotated[
    Literal["auto", "cpu", "gpu", "cuda", "tpu"],
    typer.Option("--device", help="Where to run; cuda is another word for gpu."),
]
DeviceIndex = Annotated[
    int | None, typer.Option("--device_index", min=0, help="Use this one device. Default: all of them.")
]
SmokeSteps = Annotated[int | None, typer.Option("--smoke_steps", min=1, help="End after this many steps.")]
SmokeConfig = Annotated[
    Path | None, typer.Option("--smoke_config", help="Recipe that --smoke_steps runs in place of --config.")
]
CheckpointDir = Annotated[
    Path | None,
    typer.Option("--checkpoint_dir", help="Where checkpoints go. Default: checkpoints in --output."),
]
ResumeFrom = Annotated[
    str | None,
    typer.Option("--resume_from", help="Step of a checkpoint, or latest (none yet: from the start)."),
]
SaveEverySteps = Annotated[
    int | None, typer.Option("--save_every_steps", min=1, help="Steps between two checkpoints.")
]
EvalAfterTrain = Annotated[
    bool, typer.Option("--eval_after_train", help="Evaluate the trained model, as tunix-rt eval does.")
]
EvalSet = Annotated[
    str | None,
    typer.Option("--eval_set", metavar="NAME|FILE", help=f"What it is asked. Default: {DEFAULT_EVAL_SET}."),
]


def training_command(engine: EngineName) -> Callable[..., None]:
    """The command line that trains with this engine."""

    def train(
        config: Config,
        output: Output,
        dataset: Dataset = None,
        data: Data = None,
        device: Device = "auto",
        device_index: DeviceIndex = None,
        smoke_steps: SmokeSteps = None,
        smoke_config: SmokeConfig = None,
        checkpoint_dir: CheckpointDir = None,
        resume_from: ResumeFrom = None,
        save_every_steps: SaveEverySteps = None,
        eval_after_train: EvalAfterTrain = False,
        eval_set: EvalSet = None,
    ) -> None:
        _check_evaluation(eval_after_train, eval_set)
        recipe_path = _recipe_path(config, smoke_config, smoke_steps)
        flags = _flags(dataset, data, save_every_steps)
        request = TrainRequest(
            resolved=resolve(recipe_path, [], flags, smoke_steps, smoke_reason="--smoke_steps"),
            recipe_path=recipe_path,
            data_file=data,
            engine=engine,
            device=DeviceRequest("gpu" if device == "cuda" else device, device_index),
            output=output,
            resume_from=parse_resume_from(resume_from, "--resume_from"),
            checkpoint_dir=checkpoint_dir,
        )
        run_request(request, as_json=False)
        if eval_after_train:
            asked = EvaluationRequest(str(output), eval_set or DEFAULT_EVAL_SET, device=request.device)
            evaluate_and_show(asked, engine, as_json=False)

    train.__doc__ = f"Train as `tunix-rt train --engine {engine}` does. docs/training.md has the exit codes."
    return train


def train_jax() -> None:
    """Run the command line of the JAX engine."""
    launch(training_command("jax"))


def train_torch() -> None:
    """Run the command line of the PyTorch engine."""
    launch(training_command("torch"))


def launch(command: Callable[..., None]) -> None:
    """Run a command line of its own; an error becomes its message, its next step and its exit code."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(command)
    try:
        app()
    except TunixRTError as error:
        print_error(error, as_json=False)
        sys.exit(error.exit_code)


def _recipe_path(config: Path, smoke_config: Path | None, smoke_steps: int | None) -> Path:
    if not config.is_file():
        raise NotFoundError(f"There is no recipe {config}.", next_step="Check the path after --config.")
    if smoke_config is None:
        return config
    if smoke_steps is None:
        raise InvalidInputError(
            "--smoke_config is given without --smoke_steps.",
            next_step="Add --smoke_steps 2, or leave both out to train with --config.",
        )
    if not smoke_config.is_file():
        raise NotFoundError(
            f"There is no recipe {smoke_config}.", next_step="Check the path after --smoke_config."
        )
    note(f"smoke run: {smoke_config} in place of {config}")
    return smoke_config


def _flags(dataset: str | None, data: Path | None, save_every_steps: int | None) -> dict[str, Flag]:
    if dataset is not None and data is not None:
        raise InvalidInputError("--dataset and --data are both given.", next_step="Keep one of them.")
    flags = {} if dataset is None else {"data.dataset": Flag(dataset, "--dataset")}
    if data is not None:
        flags["data.dataset"] = Flag(None, "--data")
    if save_every_steps is not None:
        flags["output.save_every_steps"] = Flag(save_every_steps, "--save_every_steps")
    return flags


def _check_evaluation(eval_after_train: bool, eval_set: str | None) -> None:
    """An eval set that cannot be used is an error before the training, not after it."""
    if eval_set is not None and not eval_after_train:
        raise InvalidInputError(
            "--eval_set is given without --eval_after_train.", next_step="Add it, or leave both out."
        )
    if eval_after_train:
        require_checkers(open_evalset(load_settings(), eval_set or DEFAULT_EVAL_SET).items)
