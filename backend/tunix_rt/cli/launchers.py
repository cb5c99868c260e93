"""Command lines of training/*.py and tools/package_submission.py."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from tunix_rt.base.errors import InvalidInputError, NotFoundError, TunixRTError
from tunix_rt.base.files.atomic import copy_atomically
from tunix_rt.base.home import opened_home
from tunix_rt.base.settings import load_settings
from tunix_rt.base.terminal.output import note, print_error, say
from tunix_rt.datasets.evalsets import open_evalset
from tunix_rt.engines.commands import EngineOption
from tunix_rt.engines.types import DeviceName, DeviceRequest, EngineName
from tunix_rt.engines.weights.sources import with_absolute_paths
from tunix_rt.evaluation.commands import (
    build_decoding,
    evaluate_and_print,
    evaluate_with_progress,
    print_result,
)
from tunix_rt.evaluation.evaluate import EvaluationRequest
from tunix_rt.evaluation.files import EvaluationDir
from tunix_rt.evaluation.scoring.checkers.check import require_checkers
from tunix_rt.evidence.commands import print_packed, print_verdict
from tunix_rt.evidence.pack import PackRequest, evidence_id, pack_evidence, zip_bundle
from tunix_rt.evidence.types import EVIDENCE_FILE
from tunix_rt.evidence.verify import verify_evidence
from tunix_rt.models.register import run_by_id_or_path
from tunix_rt.recipes.load import Flag
from tunix_rt.runs.commands.train import TrainRequest, parse_resume_from, resolve, run_request

DEFAULT_EVAL_SET = "eval_v2"

Config = Annotated[Path, typer.Option("--config", help="Recipe (YAML).")]
Output = Annotated[Path, typer.Option("--output", help="Directory of the run.")]
Dataset = Annotated[str | None, typer.Option("--dataset", help="Key of the dataset.")]
Data = Annotated[Path | None, typer.Option("--data", help="File of traces to train on instead of --dataset.")]
Device = Annotated[
    Literal["auto", "cpu", "gpu", "cuda", "tpu"],
    typer.Option("--device", help="Device to run on; cuda is an alias of gpu."),
]
DeviceIndex = Annotated[
    int | None, typer.Option("--device_index", min=0, help="Use only this device. Default: all devices.")
]
SmokeSteps = Annotated[int | None, typer.Option("--smoke_steps", min=1, help="Stop after this many steps.")]
SmokeConfig = Annotated[
    Path | None, typer.Option("--smoke_config", help="Recipe for --smoke_steps instead of --config.")
]
CheckpointDir = Annotated[
    Path | None,
    typer.Option("--checkpoint_dir", help="Checkpoint directory. Default: checkpoints in --output."),
]
ResumeFrom = Annotated[
    str | None,
    typer.Option("--resume_from", help="Checkpoint step, or latest (from the start if there is none)."),
]
SaveEverySteps = Annotated[
    int | None, typer.Option("--save_every_steps", min=1, help="Steps between checkpoints.")
]
EvalAfterTrain = Annotated[
    bool, typer.Option("--eval_after_train", help="Evaluate the trained model, like tunix-rt eval.")
]
EvalSet = Annotated[
    str | None,
    typer.Option("--eval_set", metavar="NAME|FILE", help=f"Eval set. Default: {DEFAULT_EVAL_SET}."),
]


def training_command(engine: EngineName) -> Callable[..., None]:
    """The training command of an engine."""

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
        if eval_set is not None and not eval_after_train:
            raise InvalidInputError(
                "--eval_set is given without --eval_after_train.", next_step="Add it, or leave both out."
            )
        if eval_after_train:  # an unusable eval set is reported before the training, not after it
            require_checkers(open_evalset(load_settings(), eval_set or DEFAULT_EVAL_SET).items)
        recipe_path = _recipe_path(config, smoke_config, smoke_steps)
        flags = _flags(dataset, data, save_every_steps)
        request = TrainRequest(
            resolved=with_absolute_paths(
                resolve(recipe_path, [], flags, smoke_steps, smoke_reason="--smoke_steps")
            ),
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
            evaluate_and_print(asked, engine, as_json=False)

    train.__doc__ = f"Train like `tunix-rt train --engine {engine}`. See docs/training.md for the exit codes."
    return train


def launch(command: Callable[..., None]) -> None:
    """Run one command; an error prints its message and next step and sets the exit code."""
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
    note(f"smoke run: {smoke_config} instead of {config}")
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


Model = Annotated[
    str, typer.Option("--model", help="Run, directory of a model or adapter, hub id, kaggle: handle.")
]
EvalSetPath = Annotated[
    str, typer.Option("--eval-set", metavar="NAME|FILE", help="Name or JSONL file of the eval set.")
]
EvalOutput = Annotated[
    Path,
    typer.Option(
        "--output",
        help="Directory of the evaluation. A name ending in .jsonl is a file for the predictions; "
        "the directory is then next to it.",
    ),
]
EvalDevice = Annotated[DeviceName, typer.Option("--device", help="Device to run on.")]
MaxNewTokens = Annotated[
    int, typer.Option("--max_new_tokens", min=1, help="Longer completions are truncated.")
]
Limit = Annotated[
    int | None, typer.Option("--limit", "--max-examples", min=1, help="Only use the first items.")
]
Temperature = Annotated[float, typer.Option("--temperature", min=0, help="0: greedy decoding.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed for sampling with a temperature above 0.")]


def eval_generate_command(
    model: Model,
    eval_set: EvalSetPath,
    output: EvalOutput,
    engine: EngineOption = "auto",
    device: EvalDevice = "auto",
    max_new_tokens: MaxNewTokens = 512,
    limit: Limit = None,
    temperature: Temperature = 0.0,
    seed: Seed = 0,
) -> None:
    """Evaluate a model, like `tunix-rt eval`. See docs/evaluation.md for the files and exit codes."""
    if model == "base" and not Path(model).is_dir():
        raise InvalidInputError(
            "--model base is ambiguous: it does not say which base model.",
            next_step="Name it, e.g. --model google/gemma-3-1b-it, or a directory with its files.",
        )
    is_file = output.suffix == ".jsonl"
    directory = output.with_suffix("") if is_file else output
    request = EvaluationRequest(
        model=model,
        evalset=eval_set,
        decoding=build_decoding(temperature, 1.0, 1, seed, max_new_tokens),
        device=DeviceRequest(device),
        limit=limit,
        output=directory,
    )
    with opened_home() as home:
        evaluation = evaluate_with_progress(home, request, engine)
        if is_file:
            copy_atomically(EvaluationDir(directory).predictions, output)
            note(f"predictions in {output}")
        print_result(home, evaluation, directory, as_json=False)


RunDirectory = Annotated[
    Path, typer.Option("--run-dir", metavar="DIR", help="Directory of a run or of its evidence.")
]
SubmissionOutput = Annotated[Path, typer.Option("--output", metavar="DIR", help="Directory for the zip.")]
FailureReport = Annotated[
    bool,
    typer.Option("--failure-report", help="Package a failed run, marked as a failure report."),
]


def package_submission_command(
    run_dir: RunDirectory,
    output: SubmissionOutput = Path("submission"),
    failure_report: FailureReport = False,
) -> None:
    """Package a run, or packed evidence, as one verified zip. Exit 1 if verification fails."""
    if (run_dir / EVIDENCE_FILE).is_file():
        verdict = verify_evidence(run_dir)
        print_verdict(verdict)
        if not verdict.passed:
            raise typer.Exit(1)
        assert verdict.manifest is not None  # it passed, so it has a manifest
        path = output / f"{verdict.manifest.evidence_id}.zip"
        zip_bundle(run_dir, path)
        say(f"packaged in {path}")
        return
    settings = load_settings()
    run = run_by_id_or_path(settings, str(run_dir))
    request = PackRequest(
        run, to=output / evidence_id(run.run_id), is_zip=True, is_failure_report=failure_report
    )
    print_packed(pack_evidence(settings, request))


# What the scripts call.
train_jax = partial(launch, training_command("jax"))
train_torch = partial(launch, training_command("torch"))
eval_generate = partial(launch, eval_generate_command)
package_submission = partial(launch, package_submission_command)
