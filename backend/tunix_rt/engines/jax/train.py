"""The JAX engine: from a job to trained, exported weights. Reads from top to bottom as a run goes."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import jax

from tunix_rt.base.signals import StopRequest, stop_requests
from tunix_rt.core.plan import Plan
from tunix_rt.engines.base import LATEST, TrainingJob, TrainingResult
from tunix_rt.engines.device_targets import peak_flops
from tunix_rt.engines.does_not_fit import out_of_memory_error
from tunix_rt.engines.environment import run_environment
from tunix_rt.engines.exporting import AskedFormat
from tunix_rt.engines.flops import model_flops
from tunix_rt.engines.generation import Generator, GeneratorRequest
from tunix_rt.engines.jax.checkpoints import Checkpoints
from tunix_rt.engines.jax.devices import DeviceChoice, choose_device, join
from tunix_rt.engines.jax.export import export_model
from tunix_rt.engines.jax.exporting import export_checkpoint, merge_adapter
from tunix_rt.engines.jax.fitting import CompiledTrainStep, Fitted, fit
from tunix_rt.engines.jax.generation.opening import open_generator
from tunix_rt.engines.jax.learner import JaxLearner
from tunix_rt.engines.jax.out_of_memory import is_out_of_memory
from tunix_rt.engines.jax.program import Program, build_program
from tunix_rt.engines.jax.sanity import sanity_block
from tunix_rt.engines.jax.sharding import make_mesh
from tunix_rt.engines.jax.starting import load_state
from tunix_rt.engines.jax.state import TrainState
from tunix_rt.engines.loop import LoopParts, Position, is_stopped_early, run_steps
from tunix_rt.engines.metering import Meter
from tunix_rt.engines.preparation import Prepared, prepare
from tunix_rt.engines.records import RunRecords
from tunix_rt.engines.starting import Start, find_start, restore
from tunix_rt.engines.training_records import record_beginning, record_plan, run_figures


@dataclass(frozen=True)
class JaxEngine:
    """Trains and writes with our own decoder in plain JAX."""

    name: str = "jax"

    def open_generator(self, request: GeneratorRequest) -> Generator:
        """Load a model that writes."""
        return open_generator(request)

    def export_checkpoint(self, job: TrainingJob, step: int, directory: Path) -> None:
        """Write the weights that a run had after `step` steps."""
        export_checkpoint(job, step, directory)

    def merge_adapter(self, request: GeneratorRequest, directory: Path, dtype: AskedFormat) -> None:
        """Write a model with its adapter added."""
        merge_adapter(request, directory, dtype)

    def train(self, job: TrainingJob, records: RunRecords) -> TrainingResult:
        """Run the recipe to its end, to a signal, or to the end of its time."""
        recipe = job.resolved.recipe
        # A signal reaches one of several processes; if it alone stopped, the others would wait for it.
        with stop_requests(is_listening=job.processes is None, stop_after_s=job.stop_after_s) as stop:
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
            checkpoints = Checkpoints(
                job.checkpoints, program.abstract_state, num_newest=recipe.output.keep_checkpoints
            )
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
        start = find_start(self.job, self.checkpoints, self.prepared)
        self._begin(start)
        self.records.say(sanity_block(self.program, self.prepared, self.choice))
        fitted = self._fit()
        train_step = fitted.require(is_forced=self.job.is_forced)
        try:
            return self._train(start, fitted.plan, train_step)
        except jax.errors.JaxRuntimeError as error:
            if is_out_of_memory(error):
                saved = self.checkpoints.steps()
                raise out_of_memory_error(
                    fitted.plan, self.prepared.recipe, error, saved_steps=saved
                ) from error
            raise

    def _begin(self, start: Start[TrainState]) -> None:
        environment = run_environment(
            "jax",
            device=str(self.choice),
            devices=tuple(map(str, self.choice.devices)),
            device_memory_bytes=self.choice.memory_bytes,
        )
        record_beginning(self.job, self.records, start, environment)
        if self.job.resume_from not in (None, LATEST):
            self.checkpoints.forget_after(start.step)

    def _fit(self) -> Fitted:
        self.records.say("compiling the step")
        with self.records.timed("compile"):
            fitted = fit(self.program, self.prepared, self.choice)
        record_plan(self.job, self.records, fitted.plan)
        return fitted

    def _train(self, start: Start[TrainState], plan: Plan, train_step: CompiledTrainStep) -> TrainingResult:
        with self.records.timed("load"):
            state, frozen = load_state(
                start, self.program, self.prepared, initial_adapters=self.job.initial_adapters
            )
        learner = JaxLearner(
            self.program, train_step, self.checkpoints, self.prepared.identity, state, frozen
        )
        meter = Meter(
            self.prepared,
            self.choice,
            self.records,
            flops=self._step_flops,
            peak_flops=peak_flops(self.choice),
        )
        parts = LoopParts(self.prepared, learner, self.records, meter, self.stop)
        with self.records.timed("train"):
            end = run_steps(parts, Position(start.step, start.history))
        figures = partial(run_figures, self.prepared, self.choice, plan, meter, end)
        if self.stop.is_made:
            return TrainingResult(figures(None), self.stop.signal_number, self.stop.is_out_of_time)
        if is_stopped_early(self.prepared, end.history):
            self.records.event("early-stop", f"no better validation loss since step {end.history.best_step}")
        with self.records.timed("export"):
            exported_step = self._export(end, learner)
        return TrainingResult(figures(exported_step))

    def _step_flops(self, num_tokens: int, num_trained_tokens: int) -> float:
        return model_flops(
            self.program.architecture,
            self.prepared.recipe,
            num_tokens=num_tokens,
            num_trained_tokens=num_trained_tokens,
        )

    def _export(self, end: Position, learner: JaxLearner) -> int:
        """Write the weights that the recipe asks for; the step that they are of."""
        recipe, step, trainable = self.prepared.recipe, end.step, learner.state.trainable
        best_step = end.history.best_step
        if recipe.output.model == "best" and best_step is not None and best_step != step:
            # Two states at a time may not fit.
            jax.tree.map(lambda leaf: leaf.delete(), learner.state)
            restored = restore(self.checkpoints, best_step, self.prepared.identity)
            step, trainable = best_step, restored.state.trainable
        is_full = recipe.training.mode == "full"
        export_model(
            self.job.run_dir.model,
            trainable if is_full else learner.frozen,
            None if is_full else trainable,
            recipe,
            self.prepared.source,
            self.prepared.encoder,
        )
        self.records.event(
            "exported", f"weights of step {step} are in {self.job.run_dir.model.name}/", step=step
        )
        return step
