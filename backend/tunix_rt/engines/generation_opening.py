"""What every engine settles before it loads a model that writes: tokenizer, chat template, number format."""

from tunix_rt.engines.generation import GeneratorRequest
from tunix_rt.engines.model_tokenizer import load_model_tokenizer
from tunix_rt.engines.models import ModelSource
from tunix_rt.recipes.types import FloatFormat, ModelSection
from tunix_rt.tokenization.chat_template import choose_template
from tunix_rt.tokenization.encoding import TraceEncoder


def encoder_of(request: GeneratorRequest, source: ModelSource) -> TraceEncoder:
    """The tokenizer and chat template of the model, or of the adapter on top of it."""
    tokenizer = load_model_tokenizer(_with_trained_tokenizer(request), source)
    return TraceEncoder(tokenizer, choose_template(tokenizer, request.chat_template), request.markup)


def precision_of(request: GeneratorRequest, *, computes_bfloat16: bool) -> FloatFormat:
    """The format that the request means on a device; one that computes in bfloat16 is fastest with it."""
    if request.precision != "auto":
        return request.precision
    return "bfloat16" if computes_bfloat16 else "float32"


def _with_trained_tokenizer(request: GeneratorRequest) -> ModelSection:
    """The model's section, with the tokenizer that the adapter was trained with."""
    model, adapter = request.model, request.adapter
    if model.tokenizer is not None or adapter is None or not (adapter / "tokenizer.json").is_file():
        return model
    return model.model_copy(update={"tokenizer": str(adapter)})
