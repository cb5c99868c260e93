"""Doctor, parity and demo in the terminal."""

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from tunix_rt.base.terminal.output import counted, out, print_table, say
from tunix_rt.datasets.xray.views import print_xray
from tunix_rt.engines.parity.types import DeterminismReport, ParityCertificate, RepeatedRun
from tunix_rt.engines.planning.types import Plan
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.evaluation.types import Estimate
from tunix_rt.evaluation.views import print_prediction
from tunix_rt.recipes.types import Override
from tunix_rt.runs.views import summary
from tunix_rt.system.demo import MIN_ACCURACY, DemoData, DemoResult
from tunix_rt.system.types import Diagnosis, EngineReport


def as_called(command: str) -> str:
    """The command with the environment that finds this home.

    Example:
        "eval list" after `make demo` -> "TUNIX_RT_HOME=.demo .venv/bin/tunix-rt eval list"
    """
    home = os.environ.get("TUNIX_RT_HOME")
    where = f"TUNIX_RT_HOME={_from_here(Path(home))} " if home else ""
    return f"{where}{program()} {command}"


def program() -> str:
    """How to call this program from a shell; by name only if PATH finds the same one."""
    called = Path(sys.argv[0])
    if called.name != "tunix-rt":
        return f"{_from_here(Path(sys.executable))} -m tunix_rt.cli"
    found = shutil.which("tunix-rt")
    return "tunix-rt" if found and Path(found).samefile(called) else _from_here(called)


def _from_here(path: Path) -> str:
    here = Path.cwd()
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))


_WITH_YOUR_OWN = (
    "traces import YOUR_FILE",
    "data build --name mine",
    "plan training/configs/lora_smollm2_135m.yaml --on local --dataset mine-v1",
    "train training/configs/lora_smollm2_135m.yaml --dataset mine-v1 --output output/mine",
)


def print_data(data: DemoData) -> None:
    """Results of the data stages."""
    dataset, imported = data.dataset.manifest, data.imported
    splits = ", ".join(f"{split.name} {split.statistics.num_rows:,}" for split in dataset.splits)
    say(f"collected  {imported.num_imported:,} new traces, {imported.num_present:,} already stored")
    say(f"checked    traces with an error: {data.traces_with_errors}")
    say(f"           planted wrong steps found: {data.planted_errors_found}")
    say(f"dataset    {dataset.dataset_key}: {counted(dataset.num_rows, 'row')} ({splits})")
    hashes = "hold" if data.verdict.intact else "FAIL"
    say(f"           content {dataset.content_hash[:16]}, hashes {hashes}")
    say("")
    print_xray(data.xray, out)
    say("")
    say(f"page       {data.page}")


def print_plan(plan: Plan) -> None:
    """The plan of the training."""
    say(f"plan       {plan.reason} ({plan.source})")
    if plan.total_seconds is not None:
        say(f"           about {plan.total_seconds / 60:.0f} min for {plan.num_steps} steps")


def print_result(manifest: RunManifest, run_dir: Path, result: DemoResult, *, seconds: float) -> None:
    """The result of training, and accuracy before and after."""
    say(summary(manifest, str(run_dir)))
    say("")
    if result.example is not None:
        say(f"An answer of the trained model ({result.example.item_id}):")
        print_prediction(result.example)
        say("")
    title = f"{result.after.num_items} questions with number combinations that are not in the training data"
    rows = [
        (
            when,
            f"{accuracy.value:.1%} of {accuracy.n}",
            f"{accuracy.low:.1%}–{accuracy.high:.1%}",
            _percent(evaluation.scores.overall.format_adherence),
            _percent(evaluation.scores.overall.step_correctness),
        )
        for when, evaluation, accuracy in zip(
            ("before", "after"), (result.before, result.after), result.accuracies, strict=True
        )
    ]
    print_table(("", "accuracy", "95 % CI", "format followed", "steps correct"), rows, title=title)
    difference = result.difference
    say(
        f"difference {difference.difference:+.1%} (95 % {difference.low:+.1%} to {difference.high:+.1%}), "
        f"{difference.num_gained} gained, {difference.num_lost} lost, "
        f"exact McNemar p = {difference.p_value:.2g}"
    )
    say("")
    say(f"evidence   {run_dir}: recipe, plan, environment, metrics, model, predictions, evaluation, hashes")
    say(f"           {seconds:.0f} s in total")


def print_end(result: DemoResult, *, passed: bool, is_smoke: bool) -> None:
    """The verdict and next steps."""
    if is_smoke and passed:
        say("Demo passed: everything ran. So few steps teach nothing; omit --smoke-steps for a real result.")
    elif passed:
        say("Demo passed.")
    else:
        accuracy = result.accuracies[1].value
        say(f"Demo FAILED: {accuracy:.1%} accuracy, {MIN_ACCURACY:.0%} expected; see also the checks above.")
    before, after = (str(which.evaluation_id)[:8] for which in (result.before, result.after))
    say("Inspect the result:")
    say(f"  {as_called(f'eval show {after}')}  # every question, completion and verdict")
    say(f"  {as_called(f'compare {before} {after}')}  # what the training changed")
    say(f"  {as_called(f'chat {result.after.model.run_id}')}  # chat with the model")
    say(f"  {as_called('up')}  # everything in a browser")
    say("Next, with your own traces:")
    for command in _WITH_YOUR_OWN:
        say(f"  {program()} {command}")


def _percent(estimate: Estimate | None) -> str | None:
    return None if estimate is None else f"{estimate.value:.1%}"


def print_determinism(report: DeterminismReport) -> None:
    """One row for each engine and platform, and what it means."""
    verdict = (
        "the same run twice gives the same weights on the CPU"
        if report.passed
        else "the same run twice does NOT give the same weights on the CPU"
    )
    say(f"{verdict}: {report.recipe_name}, {counted(report.num_steps, 'step')}")
    print_table(
        ["engine", "device", "batches", "losses", "weights", "largest weight difference"],
        [
            (
                one.engine,
                one.platform,
                "equal" if one.batches_equal else "differ",
                _losses(one),
                "equal" if len(set(one.weights_sha256)) == 1 else "differ",
                _largest_difference(one),
            )
            for one in report.repeats
        ],
    )
    if any(one.platform != "cpu" for one in report.repeats):
        say("Accelerators are measured, not guaranteed: kernels without a fixed order may differ next time.")
    _print_overrides(report.overrides)


def _print_overrides(overrides: Sequence[Override]) -> None:
    for one in overrides:
        say(f"changed {one.key}: {one.recipe_value} -> {one.used_value} ({one.reason})")


def _losses(one: RepeatedRun) -> str:
    if one.num_equal_steps == len(one.losses):
        return "equal"
    return f"differ from step {one.num_equal_steps + 1}, by up to {one.max_loss_difference:.1e}"


def _largest_difference(one: RepeatedRun) -> str:
    if not one.max_weight_difference:
        return f"0 in {one.num_weights:,} weights"
    return f"{one.max_weight_difference:.1e} in {one.max_weight_difference_tensor}"


def print_diagnosis(diagnosis: Diagnosis) -> None:
    """Machine, engines, extras and home; problems come last."""
    say(f"tunix-rt {diagnosis.tunix_rt_version}, Python {diagnosis.python}, {diagnosis.platform}")
    memory, driver = _gib(diagnosis.available_memory_bytes), diagnosis.driver or "none"
    say(f"{diagnosis.num_cpus} CPU cores, {memory} of memory free, NVIDIA driver: {driver}")
    say(f"home {diagnosis.home}, {_gib(diagnosis.free_disk_bytes)} free")
    if diagnosis.database is not None:
        say(f"database {diagnosis.database.address}, latency {diagnosis.database.latency_ms:.1f} ms")
    if (service := diagnosis.service) is not None:
        workers = [
            f"{one.worker_id} ({' '.join(one.slots)}; {one.status}, seen {one.last_seen_s_ago:.0f} s ago)"
            for one in service.workers
        ]
        queue = f"{service.num_waiting} waiting, {service.num_running} running"
        paused = ", paused" if service.is_queue_paused else ""
        say(f"queue: {queue}{paused}; workers: {', '.join(workers) or 'none'}")
    keys = [
        f"{token.hub} {'–' if token.found_in is None else f'in {token.found_in}'}"
        for token in diagnosis.hub_tokens
    ]
    say(f"keys: {', '.join(keys)}")
    say("")
    print_table(["engine", "version", "working devices"], [_engine_row(one) for one in diagnosis.engines])
    say(f"auto: {diagnosis.auto_engine}")
    say("")
    abilities = [
        (engine.name, one.what, "yes" if one.is_available else f"needs {one.needs}")
        for engine in diagnosis.engines
        if engine.is_installed
        for one in engine.abilities
    ]
    print_table(["engine", "feature", "available"], abilities)
    say("")
    print_table(
        ["extra", "installed", "packages"],
        [
            (
                extra.name,
                "yes" if extra.is_installed else "no",
                ", ".join(f"{name} {version}" for name, version in extra.packages.items()) or "–",
            )
            for extra in diagnosis.extras
        ],
    )
    for problem in diagnosis.problems:
        say("")
        say(f"broken: {problem.detail}")
        say(f"next:   {problem.next_step}")


def print_certificate(certificate: ParityCertificate, path: Path) -> None:
    """Whether both engines train identically within the bounds, and by how much they differ."""
    verdict = "the engines train the same" if certificate.passed else "the engines do NOT train the same"
    steps = counted(certificate.num_steps, "step")
    say(f"{verdict}: {certificate.recipe_name}, {steps} in float32 on the CPU")
    first, second = certificate.runs
    print_table(
        ["", "difference", "allowed", "where"],
        [
            ("batches", "none" if certificate.batches_equal else "some", "none", "bytes of every step"),
            (
                "losses",
                f"{certificate.max_loss_difference:.2e}",
                f"{certificate.allowed_loss_difference:.0e}",
                f"step {certificate.max_loss_difference_step}",
            ),
            (
                "weights",
                f"{certificate.max_weight_difference:.2e}",
                f"{certificate.allowed_weight_difference:.0e}",
                certificate.max_weight_difference_tensor,
            ),
        ],
    )
    say(f"loss {first.losses[0]:.4f} -> {first.losses[-1]:.4f} ({first.engine}), "
          f"{second.losses[0]:.4f} -> {second.losses[-1]:.4f} ({second.engine})")  # fmt: skip
    _print_overrides(certificate.overrides)
    say(f"certificate {path}")


def _engine_row(engine: EngineReport) -> tuple[str, str, str]:
    if not engine.is_installed:
        return engine.name, "–", f"not installed: pip install 'tunix-rt[{engine.name}]'"
    devices = [
        f"{device.platform}: {device.num_devices} x {device.kind}"
        + ("" if device.memory_bytes is None else f", {_gib(device.memory_bytes)} each")
        for device in engine.devices
    ]
    return engine.name, engine.packages[engine.name], ", ".join(devices) or "none"


def _gib(num_bytes: int | None) -> str:
    return "?" if num_bytes is None else f"{num_bytes / 2**30:.1f} GiB"
