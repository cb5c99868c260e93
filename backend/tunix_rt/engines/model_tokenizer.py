"""The tokenizer that goes with a model, proved to speak of the model's tokens."""

from tunix_rt.engines.models import ModelSource, tokenizer_source
from tunix_rt.engines.vocabulary import check_same_tokens, check_vocabulary
from tunix_rt.recipes.types import ModelSection
from tunix_rt.tokenization.tokenizer import Tokenizer, load_tokenizer


def load_model_tokenizer(section: ModelSection, source: ModelSource) -> Tokenizer:
    """The tokenizer that the section names, else the model's own.

    Raises:
        NotFoundError: There is none.
        DataError: It is not one for these weights.
    """
    tokenizer = load_tokenizer(tokenizer_source(section, source))
    check_vocabulary(tokenizer, source.architecture)
    directory = source.directory
    if section.tokenizer is None or section.weights == "random" or directory is None:
        return tokenizer
    if (directory / "tokenizer.json").is_file():
        check_same_tokens(tokenizer, load_tokenizer(str(directory)))
    return tokenizer
