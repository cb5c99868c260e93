"""Whether a tokenizer and a model speak of the same tokens."""

from collections.abc import Iterable, Iterator

from tunix_rt.base.errors import DataError
from tunix_rt.engines.architecture import Architecture
from tunix_rt.tokenization.encoding import EncodedExample
from tunix_rt.tokenization.tokenizer import Tokenizer


def check_vocabulary(tokenizer: Tokenizer, architecture: Architecture) -> None:
    """Refuse a tokenizer that turns text into ids which the model has no embedding for.

    A control token beyond the vocabulary is allowed, because text never becomes one: Gemma 3's tokenizer has
    `<image_soft_token>`, id 262144, for which its text model has no row. `require_known_ids` refuses it where
    a template writes it all the same.

    Raises:
        DataError: The vocabulary of the tokenizer is larger than the model's.
    """
    beyond = {
        token_id: text
        for token_id, text in _texts_by_id(tokenizer).items()
        if token_id >= architecture.vocab_size
        and (token_id not in tokenizer.control_token_ids or token_id == tokenizer.pad_id)
    }
    if beyond:
        first = min(beyond)
        raise DataError(
            f"The tokenizer {tokenizer.name} is not the model's: it has {len(beyond)} tokens beyond the "
            f"{architecture.vocab_size} that the model knows, the first of them {beyond[first]!r} ({first}).",
            next_step="Leave model.tokenizer out to use the model's own.",
        )


def require_known_ids(
    examples: Iterable[EncodedExample], tokenizer: Tokenizer, architecture: Architecture
) -> Iterator[EncodedExample]:
    """The same examples, as long as the model has an embedding for every id in them.

    Raises:
        DataError: An example holds an id outside the model's vocabulary.
    """
    for example in examples:
        largest_id = int(example.token_ids.max(initial=0))
        if largest_id >= architecture.vocab_size:
            text = tokenizer.fast.id_to_token(largest_id)
            raise DataError(
                f"The rows hold the token {text!r} ({largest_id}), but the model knows ids up to "
                f"{architecture.vocab_size - 1}.",
                next_step="Choose another data.chat_template, or use the model's own tokenizer.",
            )
        yield example


def check_same_tokens(tokenizer: Tokenizer, own: Tokenizer) -> None:
    """Refuse a tokenizer that gives other ids than the one with which the weights were trained.

    Added tokens are allowed: the ids that the model's own tokenizer uses must mean the same in both.

    Raises:
        DataError: An id stands for different texts.
    """
    texts, own_texts = _texts_by_id(tokenizer), _texts_by_id(own)
    differing = [token_id for token_id in texts.keys() & own_texts if texts[token_id] != own_texts[token_id]]
    if differing:
        first = min(differing)
        raise DataError(
            f"The tokenizer {tokenizer.name} is not the model's: {len(differing)} ids stand for other texts; "
            f"{first} is {texts[first]!r}, the weights were trained with {own_texts[first]!r}.",
            next_step="Leave model.tokenizer out to use the model's own.",
        )


def _texts_by_id(tokenizer: Tokenizer) -> dict[int, str]:
    return {token_id: text for text, token_id in tokenizer.fast.get_vocab(with_added_tokens=True).items()}
