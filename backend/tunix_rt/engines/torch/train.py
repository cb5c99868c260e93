"""The torch engine: from a job to trained, exported weights. Reads from top to bottom as a run goes."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tunix_rt.base.signals import StopRequest, stop_requests
from tunix_rt.core.plan import Plan
from tunix_rt.engines.base import LATEST, TrainingJob, TrainingResult
from tunix_rt.engines.device_targets import peak_flops
from tunix_rt.engines.does_not_fit import out_of_memory_error, require_fit
from tunix_rt.engines.environment import run_environment
from tunix_rt.engines.exporting import AskedFormat
from tunix_rt.engines.flops import model_flops
from tunix_rt.engines.generation import Generator, GeneratorRequest
from tunix_rt.engines.loop import LoopParts, Position, is_stopped_early, run_steps
from tunix_rt.engines.metering import Meter
from tunix_rt.engines.preparation import Prepared, prepare
from tunix_rt.engines.records import RunRecords
from tunix_rt.engines.starting import Start, find_start, restore
from tunix_rt.engines.torch.checkpoints import Checkpoints, State
from tunix_rt.engines.torch.devices import TorchDevice, choose_device, require_format
from tunix_rt.engines.torch.distributed import joined, own_device
from tunix_rt.engines.torch.export import export_model
from tunix_rt.engines.torch.exporting import export_checkpoint, merge_adapter
from tunix_rt.engines.torch.fitting import plan_run
from tunix_rt.engines.torch.generation.opening import open_generator
from tunix_rt.engines.torch.learner import TorchLearner
from tunix_rt.engines.torch.loading import resolve_kernel
from tunix_rt.engines.torch.model import Decoder
from tunix_rt.engines.torch.out_of_memory import is_out_of_memory
from tunix_rt.engines.torch.quantization import require_quantization
from tunix_rt.engines.torch.sanity import sanity_block
from tunix_rt.engines.torch.sharding import Layout, make_layout
from tunix_rt.engines.torch.starting import load_training
from tunix_rt.engines.torch_kernels import TorchChoice
from tunix_rt.engines.torch_limits import require_torch_buffers
from tunix_rt.engines.training_records import record_beginning, record_plan, run_figures


@dataclass(frozen=True)
class TorchEngine:
    """Trains and writes with the models of transformers."""

    name: str = "torch"

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
        recipe, processes = job.resolved.recipe, job.processes
        require_torch_buffers(recipe)
        num_processes = 1 if processes is None else processes.num_processes
        # A signal reaches one of several processes; if it alone stopped, the others would wait for it.
        with stop_requests(is_listening=processes is None, stop_after_s=job.stop_after_s) as stop:
            with records.timed("prepare"):
                device = choose_device(own_device(job.device, processes), count=num_processes)
                require_format(recipe.training.precision.compute, device)
                prepared = prepare(recipe, job.data)
                if recipe.quantization is not None:
                    require_quantization(recipe.quantization, prepared.source.architecture)
            with joined(processes, device.device):
                layout = make_layout(recipe, prepared.source.architecture, processes, device.device)
                kernel = resolve_kernel(recipe, prepared.source, device)
                checkpoints = Checkpoints(
                    job.checkpoints, num_newest=recipe.output.keep_checkpoints, layout=layout
                )
                try:
                    return _Training(job, records, device, prepared, kernel, layout, checkpoints, stop).run()
                finally:
                    checkpoints.close()


@dataclass(frozen=True, eq=False)
class _Training:
    """One run, once everything that it needs is at hand."""

    job: TrainingJob
    records: RunRecords
    device: TorchDevice
    prepared: Prepared
    kernel: TorchChoice
    layout: Layout
    checkpoints: Checkpoints
    stop: StopRequest

    def run(self) -> TrainingResult:
        start = find_start(self.job, self.checkpoints, self.prepared)
        self._begin(start)
        self.records.say(sanity_block(self.prepared, self.device, self.kernel, self.layout))
        plan = plan_run(self.prepared, self.device)
        record_plan(self.job, self.records, plan)
        require_fit(plan, is_forced=self.job.is_forced)
        try:
            return self._train(start, plan)
        except (RuntimeError, MemoryError) as error:
            if is_out_of_memory(error):
                recipe, saved = self.prepared.recipe, self.checkpoints.steps()
                raise out_of_memory_error(plan, recipe, error, saved_steps=saved) from error
            raise

    def _begin(self, start: Start[State]) -> None:
        environment = run_environment(
            "torch",
            device=str(self.device),
            devices=(str(self.device.device),),
            device_memory_bytes=self.device.memory_bytes,
        )
        record_beginning(self.job, self.records, start, environment)
        if self.job.resume_from not in (None, LATEST):
            self.checkpoints.forget_after(start.step)

    def _train(self, start: Start[State], plan: Plan) -> TrainingResult:
        with self.records.timed("load"):
            decoder, train_step = load_training(
                start, self.prepared, self.device, self.layout, initial_adapters=self.job.initial_adapters
            )
        for note in (*decoder.notes, str(train_step.compiling), str(train_step.liger)):
            self.records.say(note)
        learner = TorchLearner(train_step, self.checkpoints, self.prepared.identity)
        meter = Meter(
            self.prepared,
            self.device,
            self.records,
            flops=self._step_flops,
            peak_flops=peak_flops(self.device),
        )
        parts = LoopParts(self.prepared, learner, self.records, meter, self.stop)
        with self.records.timed("train"):
            end = run_steps(parts, Position(start.step, start.history))
        figures = partial(run_figures, self.prepared, self.device, plan, meter, end)
        if self.stop.is_made:
            return TrainingResult(figures(None), self.stop.signal_number, self.stop.is_out_of_time)
        if is_stopped_early(self.prepared, end.history):
            self.records.event("early-stop", f"no better validation loss since step {end.history.best_step}")
        with self.records.timed("export"):
            exported_step = self._export(end, decoder, learner)
        return TrainingResult(figures(exported_step))

    def _step_flops(self, num_tokens: int, num_trained_tokens: int) -> float:
        return model_flops(
            self.prepared.source.architecture,
            self.prepared.recipe,
            num_tokens=num_tokens,
            num_trained_tokens=num_trained_tokens,
        )

    def _export(self, end: Position, decoder: Decoder, learner: TorchLearner) -> int:
        """Write the weights that the recipe asks for; the step that they are of."""
        step, best_step = end.step, end.history.best_step
        if self.prepared.recipe.output.model == "best" and best_step is not None and best_step != step:
            restored = restore(self.checkpoints, best_step, self.prepared.identity)
            learner.train_step.load_state_dict(restored.state)
            step = best_step
        export_model(self.job.run_dir.model, self.prepared, decoder, learner.train_step, self.layout)
        self.records.event(
            "exported", f"weights of step {step} are in {self.job.run_dir.model.name}/", step=step
        )
        return step
