"""Tiny models of the torch engine for generation."""

from collections.abc import Sequence
from pathlib import Path

import torch

from tunix_rt.engines.torch.devices import choose_device
from tunix_rt.engines.torch.generation.decoder import prepare_for_generation
from tunix_rt.engines.torch.generation.generator import LoadedModel
from tunix_rt.engines.torch.model.decoder import DecoderOptions, open_decoder
from tunix_rt.engines.types import DeviceRequest
from tunix_rt.engines.weights.sources import resolve_model
from tunix_rt.recipes.types import FloatFormat, ModelSection

# On shared cores, two spinning threads are slower than one.
torch.set_num_threads(1)


def torch_model(
    directory: Path, *, stop_ids: Sequence[int] = (), precision: FloatFormat = "float32"
) -> LoadedModel:
    """Load the model of a directory on the CPU for generation."""
    place = choose_device(DeviceRequest("cpu"))
    options = DecoderOptions(weights=precision, compute=precision, kernel="dense")
    decoder = open_decoder(resolve_model(ModelSection(name=str(directory))), options, place.device)
    prepare_for_generation(decoder)
    return LoadedModel(decoder, place, frozenset(stop_ids))
