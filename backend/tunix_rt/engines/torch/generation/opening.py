"""From the name of a model to one that writes: device, files, tokenizer, weights, adapter."""

from typing import TypeAlias

from tunix_rt.engines.generation import GeneratorRequest
from tunix_rt.engines.generation_opening import encoder_of, precision_of
from tunix_rt.engines.generation_writing import BatchGenerator
from tunix_rt.engines.models import ModelSource, resolve_model
from tunix_rt.engines.stop_tokens import stop_token_ids
from tunix_rt.engines.torch.devices import TorchDevice, choose_device
from tunix_rt.engines.torch.generation.batch import LoadedModel
from tunix_rt.engines.torch.generation.forward import prepare_to_write
from tunix_rt.engines.torch.model import Decoder, DecoderOptions, open_decoder
from tunix_rt.recipes.types import FloatFormat

TorchGenerator: TypeAlias = BatchGenerator[LoadedModel]

# Ampere. Older cards emulate bfloat16, slower than float32.
_BFLOAT16_CAPABILITY = (8, 0)


def open_generator(request: GeneratorRequest) -> TorchGenerator:
    """Load the model onto the device.

    Raises:
        DeviceError: The device is not there.
        NotFoundError: There is no such model, or it has no tokenizer or weights.
        DataError: Files are damaged or do not belong together.
    """
    source = resolve_model(request.model)
    encoder = encoder_of(request, source)
    place = choose_device(request.device)
    precision = precision_of(request, computes_bfloat16=_computes_bfloat16(place))
    decoder = _decoder(request, source, precision, place)
    model = LoadedModel(decoder, place, stop_token_ids(source, encoder))
    return BatchGenerator(model, encoder, source, str(place), precision)


def _computes_bfloat16(place: TorchDevice) -> bool:
    return (place.compute_capability or (0, 0)) >= _BFLOAT16_CAPABILITY


def _decoder(
    request: GeneratorRequest, source: ModelSource, precision: FloatFormat, place: TorchDevice
) -> Decoder:
    options = DecoderOptions(
        weights=precision,
        compute=precision,
        kernel="dense",  # until `prepare_to_write` puts its own in its place
        seed=request.seed,
        is_random=request.model.weights == "random",
    )
    decoder = open_decoder(source, options, place.device)
    if request.adapter is not None:
        # PEFT is slow to import, and most models come without an adapter.
        from tunix_rt.engines.torch.adapters import load_adapters

        load_adapters(decoder, request.adapter)
    prepare_to_write(decoder)
    return decoder
