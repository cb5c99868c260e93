"""The JAX engine: from a job to trained, exported weights. Reads from top to bottom as a run goes."""

from dataclasses import dataclass
from typing import Any

import jax

from tunix_rt.core.run_record import RunFigures
from tunix_rt.engines.base import LATEST, TrainingJob, TrainingResult
from tunix_rt.engines.environment import run_environment
from tunix_rt.engines.flops import model_flops
from tunix_rt.engines.generation import Generator, GeneratorRequest
from tunix_rt.engines.interrupts import StopRequest, stop_requests
from tunix_rt.engines.jax.checkpoints import Checkpoints
from tunix_rt.engines.jax.devices import DeviceChoice, choose_device, join
from tunix_rt.engines.jax.export import export_model
from tunix_rt.engines.jax.fitting import CompiledTrainStep, Fitted, fit, out_of_memory_error, peak_flops
from tunix_rt.engines.jax.generation.opening import open_generator
from tunix_rt.engines.jax.loop import LoopParts, Position, is_stopped_early, run_steps
from tunix_rt.engines.jax.metering import Meter
from tunix_rt.engines.jax.out_of_memory import is_out_of_memory
from tunix_rt.engines.jax.program import Program, build_program
from tunix_rt.engines.jax.sanity import sanity_block
from tunix_rt.engines.jax.sharding import make_mesh
from tunix_rt.engines.jax.starting import Start, find_start, load_state
from tunix_rt.engines.preparation import Prepared, prepare
from tunix_rt.engines.records import RunRecords


@dataclass(frozen=True)
class JaxEngine:
    """Trains and writes with our own decoder in plain JAX."""

    name: str = "jax"

    def open_generator(self, request: GeneratorRequest) -> Generator:
        """Load a model that writes."""
        return open_generator(request)

    def train(self, job: TrainingJob, records: RunRecords) -> TrainingResult:
        """Run the recipe to its end, or to a signal."""
        recipe = job.resolved.recipe
        # A signal reaches one of several processes; if it alone stopped, the others would wait for it.
        with stop_requests(is_listening=job.processes is None) as stop:
            with records.timed("prepare"):
                if job.processes is not None:
                    join(job.processes, job.device)
                choice = choose_device(job.device)
                prepared = prepare(recipe, job.data)
                program = build_program(
                    recipe,
                    prepared.source.architecture,
                    make_mesh(recipe.sharding, choice.devices),
                    num_steps=prepared.num_steps,
                    platform=choice.platform,
                )
            checkpoints = Checkpoints(job.checkpoints, num_newest=recipe.output.keep_checkpoints)
            try:
                return _Training(job, records, choice, prepared, program, checkpoints, stop).run()
            finally:
                checkpoints.close()


@dataclass(frozen=True, eq=False)
class _Training:
    """One run, once everything that it needs is at hand."""

    job: TrainingJob
    records: RunRecords
    choice: DeviceChoice
    prepared: Prepared
    program: Program
    checkpoints: Checkpoints
    stop: StopRequest

    def run(self) -> TrainingResult:
        start = find_start(self.job, self.checkpoints, self.program, self.prepared)
        self._begin(start)
        self.records.say(sanity_block(self.program, self.prepared, self.choice))
        fitted = self._fit()
        train_step = fitted.require(is_forced=self.job.is_forced)
        try:
            return self._train(start, fitted, train_step)
        except jax.errors.JaxRuntimeError as error:
            if is_out_of_memory(error):
                raise out_of_memory_error(fitted.plan, error) from error
            raise

    def _begin(self, start: Start) -> None:
        """From here on the run leaves traces."""
        records = self.records
        records.begin(step=start.step)
        records.write_json(self.job.run_dir.recipe.name, self.job.resolved.to_json())
        environment = run_environment(
            "jax",
            device=str(self.choice),
            devices=tuple(map(str, self.choice.devices)),
            device_memory_bytes=self.choice.memory_bytes,
        )
        records.write_json(self.job.run_dir.environment.name, environment.to_json())
        if start.step:
            records.event("resumed", f"going on after step {start.step}", step=start.step)
        else:
            records.event("started", f"run {self.job.run_dir.run_id}")
        for damaged in start.damaged:
            message = f"the checkpoint of step {damaged.step} is damaged and was set aside: {damaged.problem}"
            records.event("damaged-checkpoint", message, step=damaged.step)
        for override in self.job.resolved.overrides:
            message = f"{override.key}: {override.recipe_value} -> {override.used_value} ({override.reason})"
            records.event("override", message, **override.model_dump(mode="json"))
        if self.job.resume_from not in (None, LATEST):
            self.checkpoints.forget_after(start.step)

    def _fit(self) -> Fitted:
        self.records.say("compiling the step")
        with self.records.timed("compile"):
            fitted = fit(self.program, self.prepared, self.choice)
        self.records.write_json(
            self.job.run_dir.plan.name, fitted.plan.model_dump(mode="json", exclude_none=True)
        )
        self.records.event("plan", fitted.plan.reason, fits=fitted.plan.fits)
        if not fitted.plan.fits and self.job.is_forced:
            self.records.is_forced = True
            self.records.event("forced", "running all the same, because of --force")
        return fitted

    def _train(self, start: Start, fitted: Fitted, train_step: CompiledTrainStep) -> TrainingResult:
        with self.records.timed("load"):
            state, frozen = load_state(start, self.program, self.prepared)
        meter = Meter(
            self.prepared,
            self.choice,
            self.records,
            flops=self._step_flops,
            peak_flops=peak_flops(self.choice),
        )
        parts = LoopParts(
            self.prepared, self.program, train_step, self.checkpoints, self.records, meter, self.stop
        )
        with self.records.timed("train"):
            end = run_steps(parts, Position(start.step, state, start.history), frozen)
        if self.stop.signal_number is not None:
            return TrainingResult(self._figures(fitted, meter, end, None), self.stop.signal_number)
        if is_stopped_early(self.prepared, end.history):
            self.records.event("early-stop", f"no better validation loss since step {end.history.best_step}")
        with self.records.timed("export"):
            exported_step = self._export(end, frozen)
        return TrainingResult(self._figures(fitted, meter, end, exported_step))

    def _step_flops(self, num_tokens: int, num_trained_tokens: int) -> float:
        return model_flops(
            self.program.architecture,
            self.prepared.recipe,
            num_tokens=num_tokens,
            num_trained_tokens=num_trained_tokens,
        )

    def _export(self, end: Position, frozen: Any) -> int:
        """Write the weights that the recipe asks for; the step that they are of."""
        recipe, step, trainable = self.prepared.recipe, end.step, end.state.trainable
        best_step = end.history.best_step
        if recipe.output.model == "best" and best_step is not None and best_step != step:
            # Two states at a time may not fit.
            jax.tree.map(lambda leaf: leaf.delete(), end.state)
            restored = self.checkpoints.restore(
                best_step, self.program.abstract_state, self.prepared.identity
            )
            step, trainable = best_step, restored.state.trainable
        is_full = recipe.training.mode == "full"
        export_model(
            self.job.run_dir.model,
            trainable if is_full else frozen,
            None if is_full else trainable,
            recipe,
            self.prepared.source,
            self.prepared.encoder,
        )
        self.records.event("exported", f"weights of step {step} are in {self.job.run_dir.model}", step=step)
        return step

    def _figures(self, fitted: Fitted, meter: Meter, end: Position, exported_step: int | None) -> RunFigures:
        batches, history = self.prepared.batches, end.history
        return RunFigures(
            num_steps=end.step,
            num_planned_steps=self.prepared.num_steps,
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
            planned_memory_bytes=fitted.plan.per_device_bytes,
            peak_memory_bytes=self.choice.peak_memory_bytes(),
            peak_memory_of="process" if self.choice.platform == "cpu" else "device",
        )
