"""The decoder that a recipe trains: weights, adapters, quantisation, attention kernel."""

import torch

from tunix_rt.engines.attention_kernel import Setting
from tunix_rt.engines.models import ModelSource
from tunix_rt.engines.torch.adapters import add_adapters
from tunix_rt.engines.torch.devices import TorchDevice, require_format
from tunix_rt.engines.torch.model import Decoder, DecoderOptions, hold_for_compute, open_decoder
from tunix_rt.engines.torch.quantization import quantize_layers
from tunix_rt.engines.torch_kernels import TorchChoice, resolve_torch_kernel
from tunix_rt.recipes.types import Recipe


def resolve_kernel(recipe: Recipe, source: ModelSource, device: TorchDevice) -> TorchChoice:
    """The attention kernel that a recipe means on a device, and why.

    Raises:
        InvalidInputError: A kernel was asked for by name and cannot serve.
    """
    setting = Setting(
        source.architecture,
        device.platform,
        recipe.data.row_length,
        recipe.training.precision.compute,
        device.compute_capability,
    )
    return resolve_torch_kernel(recipe.training.attention, setting)


def load_decoder(source: ModelSource, recipe: Recipe, device: TorchDevice) -> Decoder:
    """Load what a recipe trains; parameters that it trains require a gradient, and only those.

    Raises:
        DataError: The files of the weights are damaged or are not those of the model.
        InvalidInputError: The recipe asks for something that the model or the device cannot give.
        MissingExtraError: An optional dependency of the mode is not installed.
    """
    precision = recipe.training.precision
    require_format(precision.compute, device)
    options = DecoderOptions(
        weights=precision.weights,
        compute=precision.compute,
        kernel=resolve_kernel(recipe, source, device).kernel,
        seed=recipe.training.seed,
        is_random=recipe.model.weights == "random",
        is_frozen=recipe.training.mode == "lora",
    )
    if recipe.quantization is None:
        decoder = open_decoder(source, options, device.device)
    else:
        decoder = _open_quantized(source, recipe, options, device)
    if recipe.lora is not None:
        add_adapters(decoder, recipe.lora, recipe.training.seed)
    return decoder


def _open_quantized(
    source: ModelSource, recipe: Recipe, options: DecoderOptions, device: TorchDevice
) -> Decoder:
    """Through the host: the device never holds the model unquantised."""
    assert recipe.quantization is not None
    decoder = open_decoder(source, options, torch.device("cpu"))
    quantize_layers(decoder, recipe.quantization, device.device)
    hold_for_compute(decoder.module, decoder.compute_dtype)
    decoder.module.to(device.device)
    return decoder
