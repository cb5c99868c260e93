"""The torch engine: training, generation and exports."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from tunix_rt.base.signals import stop_requests
from tunix_rt.engines.planning.kernels import TorchKernelChoice
from tunix_rt.engines.planning.limits import require_torch_buffers, require_torch_format
from tunix_rt.engines.planning.types import Plan
from tunix_rt.engines.torch.devices import TorchDevice, choose_device, is_out_of_memory
from tunix_rt.engines.torch.distributed import Layout, joined, make_layout, own_device
from tunix_rt.engines.torch.export import export_checkpoint, export_model, merge_adapter
from tunix_rt.engines.torch.generation.generator import open_generator
from tunix_rt.engines.torch.model.decoder import Decoder
from tunix_rt.engines.torch.model.quantization import require_quantization
from tunix_rt.engines.torch.start import load_training, plan_run, resolve_kernel, run_summary
from tunix_rt.engines.torch.training.batches import DeviceBatch
from tunix_rt.engines.torch.training.checkpoints import Checkpoints, State
from tunix_rt.engines.torch.training.step import NOT_DIVERGED, TrainStep
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
class _TorchBackend:
    """`TrainingBackend` with a step that updates the weights in place."""

    prepared: Prepared
    decoder: Decoder
    train_step: TrainStep
    layout: Layout
    checkpoints: Checkpoints
    identity: RunIdentity

    def put(self, batch: Batch) -> DeviceBatch:
        return self.train_step.put_batch(batch)

    def step(self, batch: DeviceBatch, index: int) -> PendingFigures:
        metrics = self.train_step.run(batch, index)
        read = _copy_to_host(metrics.loss, metrics.grad_norm, metrics.diverged_at)

        def figures() -> StepFigures:
            loss, grad_norm, diverged_at = read()
            return StepFigures(
                loss=loss,
                num_trained_tokens=metrics.num_trained_tokens,
                grad_norm=grad_norm,
                learning_rate=metrics.learning_rate,
                is_finite=diverged_at == NOT_DIVERGED,
            )

        return figures

    def loss_sums(self, batch: DeviceBatch) -> PendingSums:
        read = _copy_to_host(*self.train_step.validation_sums(batch))

        def sums() -> tuple[float, float]:
            loss, num_tokens = read()
            return loss, num_tokens

        return sums

    def save(self, step: int, history: ValidationHistory) -> None:
        record = CheckpointRecord(step=step, identity=self.identity, validation=history, checksums={})
        self.checkpoints.save(self.train_step.state_dict(), record)

    def saved_steps(self) -> list[int]:
        # Only then are they the same in every process.
        self.checkpoints.wait()
        return self.checkpoints.steps()

    def wait_until_saved(self) -> None:
        self.checkpoints.wait()

    def restore(self, step: int) -> None:
        self.train_step.load_state_dict(restore(self.checkpoints, step, self.identity).state)

    def export(self, directory: Path) -> None:
        export_model(directory, self.prepared, self.decoder, self.train_step, self.layout)


def _copy_to_host(*scalars: Tensor) -> Callable[[], list[float]]:
    """Copy scalars to the host as soon as the device has computed them; the result waits for the copy."""
    values = torch.stack([scalar.detach().to(scalars[0].device, torch.float64) for scalar in scalars])
    if not values.is_cuda:
        return values.tolist
    on_host = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
    on_host.copy_(values, non_blocking=True)
    # Without an event, reading would wait for every step started in the meantime.
    arrived = torch.cuda.Event()
    arrived.record()

    def read() -> list[float]:
        arrived.synchronize()
        return list(on_host.tolist())

    return read


@dataclass(frozen=True)
class TorchEngine:
    """Trains and generates with the models of transformers."""

    name: str = "torch"
    open_generator = staticmethod(open_generator)
    export_checkpoint = staticmethod(export_checkpoint)
    merge_adapter = staticmethod(merge_adapter)

    def train(self, job: TrainingJob, records: RunRecords) -> TrainingResult:
        """Run the recipe to its end, to a signal, or to its time limit."""
        recipe, processes = job.resolved.recipe, job.processes
        require_torch_buffers(recipe)
        num_processes = 1 if processes is None else processes.num_processes
        # A signal reaches only one of several processes; if that one stopped, the others would hang.
        with stop_requests(is_listening=processes is None, stop_after_s=job.stop_after_s) as stop:
            with records.timed("prepare"):
                device = choose_device(own_device(job.device, processes), count=num_processes)
                compute = recipe.training.precision.compute
                require_torch_format(compute, device.kind, device.compute_capability)
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

    def load(self, start: Start[State]) -> _TorchBackend:
        decoder, train_step = load_training(
            start, self.prepared, self.devices, self.layout, initial_adapters=self.job.initial_adapters
        )
        for note in (*decoder.notes, str(train_step.compiling), str(train_step.liger)):
            self.records.log(note)
        identity = self.prepared.identity
        return _TorchBackend(self.prepared, decoder, train_step, self.layout, self.checkpoints, identity)

    def is_out_of_memory(self, error: BaseException) -> bool:
        return is_out_of_memory(error)
