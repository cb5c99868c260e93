"""One update from all micro-batches; learning rate; random streams.

    micro-batches --one after the other--> sum of losses, sum of gradients
                  --once-->                mean = sums / tokens --> norm, clipping, update

Dividing once gives the gradient of the whole batch even if micro-batches have unequal numbers of trained
tokens; a mean of their means would not. Nothing here blocks on the device: the device itself skips non-finite
updates.
"""

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tunix_rt.engines.torch.distributed import ALONE, Layout
from tunix_rt.engines.torch.model.compiled import (
    CudaGraphDecoder,
    Hidden,
    apply_liger,
    can_use_cuda_graph,
    choose_compiling,
    choose_liger,
    compile_layers,
)
from tunix_rt.engines.torch.model.decoder import Decoder, apply_remat
from tunix_rt.engines.torch.training.batches import (
    DeviceBatch,
    GradientSums,
    GraphGradientSums,
    MicroBatch,
    global_norm,
    put_batch,
)
from tunix_rt.engines.torch.training.loss import chunked_loss
from tunix_rt.engines.torch.training.optimizer import (
    Adafactor,
    AdamW,
    Optimizer,
    Update,
    refresh_working_copies,
    trained_weights,
)
from tunix_rt.recipes.types import AdamW as AdamWSettings
from tunix_rt.recipes.types import Recipe, TrainingSection
from tunix_rt.tokenization.packing import Batch

NOT_DIVERGED = -1


class StepMetrics(NamedTuple):
    """Tensors are scalars on the device; reading one blocks until the step is done."""

    loss: Tensor
    """Mean over the trained tokens of the batch, before the update."""
    num_trained_tokens: int
    grad_norm: Tensor
    """Before clipping."""
    learning_rate: float
    diverged_at: Tensor
    """The first update with a non-finite loss or gradient, or -1. No update is applied from then on."""


class TrainStep:
    """The train step of one run and the state it changes: weights, moments, the number of updates."""

    def __init__(
        self,
        decoder: Decoder,
        recipe: Recipe,
        num_steps: int,
        device: torch.device,
        layout: Layout = ALONE,
    ) -> None:
        """Take ownership of a decoder: its trained weights become working copies if the recipe says so.

        Every weight of the decoder is on the device in its storage format. `num_steps` is the number of
        updates of the whole run, the length of the schedule.
        """
        self._decoder, self._recipe, self._device, self._layout = decoder, recipe, device, layout
        self._device_use = threading.Lock()
        self.compiling = choose_compiling(
            recipe, device, num_steps=num_steps, num_processes=layout.num_processes
        )
        self.liger = choose_liger(self.compiling, device, has_adapters=recipe.lora is not None)
        if self.liger.is_on:
            apply_liger(decoder)
        compute: torch.dtype = getattr(torch, recipe.training.precision.compute)
        # Sharding replaces the parameters, so everything that refers to them comes after it.
        self._loss = layout.wrap(decoder.module, decoder.layers, self._loss_of, compute=compute)
        self._weights = trained_weights(decoder.module, compute)
        training = recipe.training
        if isinstance(training.optimizer, AdamWSettings):
            moment_format: torch.dtype = getattr(torch, training.precision.optimizer_state)
            self._optimizer: Optimizer = AdamW(self._weights, training.optimizer, moment_format)
        else:
            self._optimizer = Adafactor(self._weights, training.optimizer)
        self._learning_rate = learning_rate_at(training, num_steps)
        has_dropout = recipe.lora is not None and recipe.lora.dropout > 0
        is_compiled = self.compiling.is_on
        apply_remat(decoder, training.remat, has_dropout=has_dropout, is_compiled=is_compiled)
        if is_compiled:
            compile_layers(decoder.layers, recipe)
        self._hidden: Hidden = decoder.hidden
        if can_use_cuda_graph(decoder, recipe, self.compiling):
            self._hidden = CudaGraphDecoder(decoder, self._device_use)
        self._gradients: GradientSums | GraphGradientSums = (
            GraphGradientSums(self._weights)
            if self.uses_cuda_graph
            else GradientSums(self._weights, training.gradient_accumulation_steps)
        )
        self._diverged_at = torch.full((), NOT_DIVERGED, dtype=torch.int32, device=device)
        decoder.module.train()

    @property
    def uses_cuda_graph(self) -> bool:
        """Whether the forward and backward pass of the decoder are one CUDA graph."""
        return isinstance(self._hidden, CudaGraphDecoder)

    def put_batch(self, batch: Batch) -> DeviceBatch:
        """Transfer a batch to the device, split into micro-batches; thread-safe."""
        num_parts = self._recipe.training.gradient_accumulation_steps
        with self._device_use:
            return put_batch(batch, num_parts, self._device, self._layout)

    def run(self, batch: DeviceBatch, step: int) -> StepMetrics:
        """Run update number `step`, counted from 0; skip it if the loss or a gradient is not finite."""
        num_tokens = max(1, batch.num_trained_tokens)
        loss = self._summed_loss(batch, step) / num_tokens
        gradients = self._gradients.take()
        self._layout.sum_gradients(gradients)
        grad_norm = global_norm(gradients, self._layout) / num_tokens
        is_first = (self._diverged_at == NOT_DIVERGED) & ~(loss.isfinite() & grad_norm.isfinite())
        self._diverged_at.masked_fill_(is_first, step)
        self._optimizer.update(gradients, self._update(grad_norm, num_tokens, step))
        refresh_working_copies(self._weights)
        return StepMetrics(
            loss, batch.num_trained_tokens, grad_norm, self._learning_rate(step), self._diverged_at.clone()
        )

    @torch.no_grad()
    def validation_sums(self, batch: DeviceBatch) -> tuple[Tensor, Tensor]:
        """Sum of the losses of a batch and its number of trained tokens, without dropout."""
        self._decoder.module.eval()
        try:
            losses = [self._loss(*micro_batch) for micro_batch in batch.micro_batches]
        finally:
            self._decoder.module.train()
        total = self._layout.sum_over_processes(torch.stack(losses).sum())
        return total, total.new_full((), batch.num_trained_tokens)

    def state_dict(self) -> dict[str, Tensor]:
        """Everything that the next step depends on, apart from its number: whole tensors, not copies.

        Every process must call this, because a tensor may be sharded over all of them.
        """
        return {name: self._layout.full(tensor) for name, tensor in self._state().items()}

    @torch.no_grad()
    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Restore a state from `state_dict` and clear a divergence."""
        for name, tensor in self._state().items():
            tensor.copy_(self._layout.shard_like(state[name], tensor))
        refresh_working_copies(self._weights)
        self._diverged_at.fill_(NOT_DIVERGED)

    def stored_weights(self) -> dict[str, Tensor]:
        """The trained weights in their storage format, by the names of the decoder's parameters."""
        return {weight.name: self._layout.full(weight.stored) for weight in self._weights}

    def restore_stored_weights(self) -> None:
        """Replace working copies in the decoder by the stored weights. No step may follow."""
        for weight in self._weights:
            weight.parameter.data = weight.stored

    def _state(self) -> dict[str, Tensor]:
        weights = {f"weights.{weight.name}": weight.stored for weight in self._weights}
        return weights | self._optimizer.state()

    def _summed_loss(self, batch: DeviceBatch, step: int) -> Tensor:
        losses = []
        for index, micro_batch in enumerate(batch.micro_batches):
            with self._dropout(step, index):
                loss = self._loss(*micro_batch)
                loss.backward()
                self._gradients.add()
            losses.append(loss.detach())
        return self._layout.sum_over_processes(torch.stack(losses).sum())

    def _loss_of(self, *fields: Any) -> Tensor:
        """The summed loss of one micro-batch, computed at its trained positions."""
        part = MicroBatch(*fields)
        hidden = self._hidden(part.tokens, part.segment_ids, part.positions, part.bounds)
        return chunked_loss(
            hidden.flatten(0, 1).index_select(0, part.loss_positions),
            self._decoder.head_weight(),
            part.targets,
            part.weights,
            chunk_tokens=self._recipe.training.loss_chunk_tokens,
            softcap=self._decoder.architecture.final_softcap,
            is_compiled=self.compiling.is_on,
        )

    def _dropout(self, step: int, micro_batch: int) -> AbstractContextManager[None]:
        """Seeded dropout: it depends on the seed, step, micro-batch and process."""
        if self._recipe.lora is None or self._recipe.lora.dropout == 0:
            return nullcontext()
        seed = self._recipe.training.seed
        return seeded(self._device, seed, "dropout", step, micro_batch, self._layout.process_id)

    def _update(self, grad_norm: Tensor, num_tokens: int, step: int) -> Update:
        training = self._recipe.training
        limit = training.max_grad_norm
        excess = grad_norm.new_ones(()) if limit is None else (grad_norm / limit).clamp(min=1.0)
        is_random = training.precision.stochastic_rounding
        return Update(
            learning_rate=self._learning_rate(step),
            gradient_divisor=excess * num_tokens,
            is_skipped=(self._diverged_at != NOT_DIVERGED).float(),
            weight_noise=generator(self._device, training.seed, "weights", step) if is_random else None,
            moment_noise=generator(self._device, training.seed, "moments", step),
        )


def learning_rate_at(training: TrainingSection, num_steps: int) -> Callable[[int], float]:
    """The learning rate of each update, counted from 0."""
    return lambda step: training.learning_rate_at(step, num_steps)


def stream_seed(seed: int, *names: int | str) -> int:
    """A seed for one purpose and position: the same names give the same seed on any machine.

    Example:
        stream_seed(0, "dropout", 7) != stream_seed(0, "dropout", 8)
    """
    text = "/".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 1


def generator(device: torch.device, seed: int, *names: int | str) -> torch.Generator:
    """A separate random generator for one purpose and position."""
    return torch.Generator(device).manual_seed(stream_seed(seed, *names))


@contextmanager
def seeded(device: torch.device, seed: int, *names: int | str) -> Iterator[None]:
    """Seed torch's global generators inside this context, and restore them afterwards."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(stream_seed(seed, *names))
        yield
