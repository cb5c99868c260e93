"""Between texts and what a generator takes and gives: the beginning of an answer as ids, and ids as text."""

from collections.abc import Sequence

from tunix_rt.tokenization.encoding import TraceEncoder
from tunix_rt.traces.types import MARKUPS

_MARKUP = frozenset(text for markup in MARKUPS.values() for text in markup.reserved)


def encode_continuation(encoder: TraceEncoder, prompt: str, completion_prefix: str) -> list[int]:
    r"""The ids of a prompt whose answer has begun: a model goes on from there.

    The beginning is tokenised as training tokenises completions. Cut it where a token ends, best after a
    line: half a word has other ids than the word.

    Example:
        "6*7?", "<reasoning>\n6*7=42\n" -> <bos><start_of_turn>user … model\n<reasoning>\n6*7=42\n

    Raises:
        DataError: The chat template refuses the texts, or changes them.
    """
    return encoder.encode_prompt(prompt) + encoder.encode_beginning(completion_prefix)


def decode(encoder: TraceEncoder, token_ids: Sequence[int]) -> str | None:
    """The text of a completion, without control tokens; None when it is no text.

    It is none when an id has no token at all: some models have more rows than their tokenizer has tokens.
    Bytes that are not UTF-8 become U+FFFD: a model that writes nonsense has written a text, and a wrong one.
    """
    tokenizer = encoder.tokenizer
    if any(tokenizer.fast.id_to_token(token_id) is None for token_id in token_ids):
        return None
    # Markup is text, even where the tokenizer has control tokens for it.
    control = tokenizer.control_token_ids - {tokenizer.token_id(text) for text in _MARKUP}
    kept = [token_id for token_id in token_ids if token_id not in control]
    return tokenizer.fast.decode(kept, skip_special_tokens=False)
