"""Tiny models as the torch engine opens them."""

from pathlib import Path

import torch
from torch import Tensor

from tunix_rt.engines.jax.model.decoder import Inputs
from tunix_rt.engines.planning.kernels import TorchKernel
from tunix_rt.engines.torch.model.decoder import Decoder, DecoderOptions, open_decoder
from tunix_rt.engines.weights.sources import resolve_model
from tunix_rt.recipes.types import FloatFormat, ModelSection

# On shared cores, two spinning threads are slower than one.
torch.set_num_threads(1)

CPU = torch.device("cpu")


def decoder_of(directory: Path, *, kernel: TorchKernel = "sdpa", compute: FloatFormat = "float32") -> Decoder:
    """Load the model of a directory on the CPU with float32 weights."""
    source = resolve_model(ModelSection(name=str(directory)))
    return open_decoder(source, DecoderOptions(compute=compute, kernel=kernel), CPU)


def inputs_of(inputs: Inputs) -> tuple[Tensor, Tensor, Tensor]:
    """Return tokens, segments and positions as tensors."""
    tokens, segment_ids, positions = (torch.as_tensor(array).long() for array in inputs)
    return tokens, segment_ids, positions
