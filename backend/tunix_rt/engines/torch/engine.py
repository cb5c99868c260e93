"""The torch engine: training, generation and exports."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from tunix_rt.base.signals import stop_requests
from tunix_rt.engines.export import RequestedFormat
from tunix_rt.engines.generation.base import Generator, GeneratorRequest
from tunix_rt.engines.planning.kernels import TorchKernelChoice
from tunix_rt.engines.planning.limits import require_torch_buffers
from tunix_rt.engines.planning.types import Plan
from tunix_rt.engines.torch.devices import TorchDevice, choose_device, is_out_of_memory, require_format
from tunix_rt.engines.torch.distributed import Layout, joined, make_layout, own_device
from tunix_rt.engines.torch.export import export_checkpoint, export_model, merge_adapter
from tunix_rt.engines.torch.generation.generator import open_generator
from tunix_rt.engines.torch.model.decoder import Decoder
from tunix_rt.engines.torch.model.quantization import require_quantization
from tunix_rt.engines.torch.start import load_training, plan_run, resolve_kernel, run_summary
from tunix_rt.engines.torch.training.batches import DeviceBatch
from tunix_rt.engines.torch.training.checkpoints import Checkpoints, State
from tunix_rt.engines.torch.training.step import NOT_DIVERGED, StepMetrics, TrainStep
from tunix_rt.engines.training.backend import PendingFigures, PendingSums, StepFigures
from tunix_rt.engines.training.checkpointing import (
    CheckpointRecord,
    Start,
    ValidationHistory,
    restore,
)
from tunix_rt.engines.training.job import TrainingJob, TrainingResult
from tunix_rt.engines.training.preparation import Prepared, RunIdentity, prepare
from tunix_rt.engines.training.records import RunRecords
from tunix_rt.engines.training.run import EngineTraining
from tunix_rt.tokenization.packing import Batch


@dataclass(frozen=True, eq=False)
class TorchBackend:
    """`TrainingBackend` with a step that updates the weights in place."""

    prepared: Prepared
    decoder: Decoder
    train_step: TrainStep
    layout: Layout
    checkpoints: Checkpoints
    identity: RunIdentity

    def put(self, batch: Batch) -> DeviceBatch:
        """Copy a batch to the device."""
        return self.train_step.put_batch(batch)

    def step(self, batch: DeviceBatch, index: int) -> PendingFigures:
        """Start the update with the batch of this index."""
        metrics = self.train_step.run(batch, index)
        scalars = _AsyncScalars(metrics.loss, metrics.grad_norm, metrics.diverged_at)
        return partial(_figures, metrics, scalars)

    def loss_sums(self, batch: DeviceBatch) -> PendingSums:
        """Start computing the loss of a validation batch."""
        return partial(_sums, _AsyncScalars(*self.train_step.validation_sums(batch)))

    def save(self, step: int, history: ValidationHistory) -> None:
        """Write a checkpoint while training continues."""
        record = CheckpointRecord(step=step, identity=self.identity, validation=history, checksums={})
        self.checkpoints.save(self.train_step.state_dict(), record)

    def saved_steps(self) -> list[int]:
        """The steps with a checkpoint, ascending; the same in every process."""
        self.checkpoints.wait()
        return self.checkpoints.steps()

    def wait_until_saved(self) -> None:
        """Wait until every checkpoint is on disk."""
        self.checkpoints.wait()

    def restore(self, step: int) -> None:
        """Replace the state by the checkpoint of a step."""
        self.train_step.load_state_dict(restore(self.checkpoints, step, self.identity).state)

    def export(self, directory: Path) -> None:
        """Write the weights of the state."""
        export_model(directory, self.prepared, self.decoder, self.train_step, self.layout)


class _AsyncScalars:
    """Scalars that are copied to the host as soon as the device has computed them."""

    def __init__(self, *scalars: Tensor) -> None:
        values = torch.stack([scalar.detach().to(scalars[0].device, torch.float64) for scalar in scalars])
        self._arrived: torch.cuda.Event | None = None
        self._values = values
        if values.is_cuda:
            # Without an event, reading would wait for every step started in the meantime.
            self._values = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
            self._values.copy_(values, non_blocking=True)
            self._arrived = torch.cuda.Event()
            self._arrived.record()

    def read(self) -> list[float]:
        """Wait for the copy and return the values."""
        if self._arrived is not None:
            self._arrived.synchronize()
        values: list[float] = self._values.tolist()
        return values


def _figures(metrics: StepMetrics, scalars: _AsyncScalars) -> StepFigures:
    loss, grad_norm, diverged_at = scalars.read()
    return StepFigures(
        loss=loss,
        num_trained_tokens=metrics.num_trained_tokens,
        grad_norm=grad_norm,
        learning_rate=metrics.learning_rate,
        is_finite=diverged_at == NOT_DIVERGED,
    )


def _sums(sums: _AsyncScalars) -> tuple[float, float]:
    loss, num_tokens = sums.read()
    return loss, num_tokens


@dataclass(frozen=True)
class TorchEngine:
    """Trains and generates with the models of transformers."""

    name: str = "torch"

    def open_generator(self, request: GeneratorRequest) -> Generator:
        """Load a model for generation."""
        return open_generator(request)

    def export_checkpoint(self, job: TrainingJob, step: int, directory: Path) -> None:
        """Write the weights that a run had after `step` steps."""
        export_checkpoint(job, step, directory)

    def merge_adapter(self, request: GeneratorRequest, directory: Path, dtype: RequestedFormat) -> None:
        """Write a model with its adapter merged."""
        merge_adapter(request, directory, dtype)

    def train(self, job: TrainingJob, records: RunRecords) -> TrainingResult:
        """Run the recipe to its end, to a signal, or to its time limit."""
        recipe, processes = job.resolved.recipe, job.processes
        require_torch_buffers(recipe)
        num_processes = 1 if processes is None else processes.num_processes
        # A signal reaches only one of several processes; if that one stopped, the others would hang.
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
                    names = (str(device.device),)
                    return _TorchTraining(
                        self.name, names, job, records, prepared, device, checkpoints, stop, kernel, layout
                    ).run()
                finally:
                    checkpoints.close()


@dataclass(eq=False)
class _TorchTraining(EngineTraining[State]):
    devices: TorchDevice
    checkpoints: Checkpoints
    kernel: TorchKernelChoice
    layout: Layout

    def summary(self) -> str:
        return run_summary(self.prepared, self.devices, self.kernel, self.layout)

    def plan(self) -> Plan:
        return plan_run(self.prepared, self.devices)

    def load(self, start: Start[State]) -> TorchBackend:
        decoder, train_step = load_training(
            start, self.prepared, self.devices, self.layout, initial_adapters=self.job.initial_adapters
        )
        for note in (*decoder.notes, str(train_step.compiling), str(train_step.liger)):
            self.records.log(note)
        identity = self.prepared.identity
        return TorchBackend(self.prepared, decoder, train_step, self.layout, self.checkpoints, identity)

    def is_out_of_memory(self, error: BaseException) -> bool:
        return is_out_of_memory(error)
