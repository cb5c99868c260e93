"""What every engine writes down of a training, in the order in which it happens."""

from typing import Any

from tunix_rt.core.plan import Plan
from tunix_rt.core.run_record import RunEnvironment, RunFigures
from tunix_rt.engines.base import TrainingJob
from tunix_rt.engines.code_revision import code_diff
from tunix_rt.engines.device_targets import Devices
from tunix_rt.engines.loop import Position
from tunix_rt.engines.metering import Meter
from tunix_rt.engines.preparation import Prepared
from tunix_rt.engines.records import RunRecords
from tunix_rt.engines.starting import Start


def record_beginning(
    job: TrainingJob, records: RunRecords, start: Start[Any], environment: RunEnvironment
) -> None:
    """From here on the run leaves traces."""
    records.begin(step=start.step)
    records.write_json(job.run_dir.recipe.name, job.resolved.to_json())
    records.write_json(job.run_dir.environment.name, environment.to_json())
    if environment.is_dirty and (diff := code_diff()) is not None:
        records.write_text(job.run_dir.code_diff.name, diff)
    if start.step:
        records.event("resumed", f"going on after step {start.step}", step=start.step)
    else:
        records.event("started", f"run {job.run_dir.run_id}")
    for damaged in start.damaged:
        message = f"the checkpoint of step {damaged.step} is damaged and was set aside: {damaged.problem}"
        records.event("damaged-checkpoint", message, step=damaged.step)
    for override in job.resolved.overrides:
        message = f"{override.key}: {override.recipe_value} -> {override.used_value} ({override.reason})"
        records.event("override", message, **override.model_dump(mode="json"))


def record_plan(job: TrainingJob, records: RunRecords, plan: Plan) -> None:
    """The plan, and whether the run goes on against it."""
    records.write_json(job.run_dir.plan.name, plan.model_dump(mode="json", exclude_none=True))
    records.event("plan", plan.reason, fits=plan.fits)
    if not plan.fits and job.is_forced:
        records.is_forced = True
        records.event("forced", "running all the same, because of --force")


def run_figures(
    prepared: Prepared,
    devices: Devices,
    plan: Plan,
    meter: Meter,
    end: Position,
    exported_step: int | None,
) -> RunFigures:
    """What came out of a run that did not fail."""
    batches, history = prepared.batches, end.history
    return RunFigures(
        num_steps=end.step,
        num_planned_steps=prepared.num_steps,
        num_examples=batches.num_examples,
        num_dropped_examples=batches.num_dropped,
        fill_ratio=batches.fill_ratio,
        final_loss=None if meter.last_line is None else meter.last_line.loss,
        validation_loss=history.last_loss,
        best_validation_loss=history.best_loss,
        best_step=history.best_step,
        exported_step=exported_step,
        tokens_per_s=meter.tokens_per_s,
        mfu=meter.mfu,
        planned_memory_bytes=plan.per_device_bytes,
        peak_memory_bytes=meter.peak_memory_bytes,
        peak_memory_of="process" if devices.platform == "cpu" else "device",
    )
