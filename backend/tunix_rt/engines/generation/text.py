"""Token ids of prompts with the beginning of an answer; incremental detokenization."""

from collections.abc import Sequence

from tunix_rt.tokenization.encoding import TraceEncoder
from tunix_rt.traces.types import MARKUPS

_MARKUP = frozenset(text for markup in MARKUPS.values() for text in markup.reserved)


def encode_continuation(encoder: TraceEncoder, prompt: str, completion_prefix: str) -> list[int]:
    r"""The ids of a prompt followed by the beginning of an answer, for the model to continue.

    The beginning is tokenised as training tokenises completions. Cut it at a token boundary, preferably after
    a line: half a word has other ids than the word.

    Example:
        "6*7?", "<reasoning>\n6*7=42\n" -> <bos><start_of_turn>user … model\n<reasoning>\n6*7=42\n

    Raises:
        DataError: The chat template refuses the texts, or changes them.
    """
    return encoder.encode_prompt(prompt) + encoder.encode_beginning(completion_prefix)


def decode(encoder: TraceEncoder, token_ids: Sequence[int]) -> str | None:
    """The text of a completion, without control tokens; None when an id has no token.

    Some models have more embedding rows than their tokenizer has tokens. Bytes that are not UTF-8 become
    U+FFFD: nonsense is still a text, and a wrong one.
    """
    tokenizer = encoder.tokenizer
    if any(tokenizer.fast.id_to_token(token_id) is None for token_id in token_ids):
        return None
    # Markup is text, even where the tokenizer has control tokens for it.
    control = tokenizer.control_token_ids - {tokenizer.token_id(text) for text in _MARKUP}
    text_ids = [token_id for token_id in token_ids if token_id not in control]
    return tokenizer.fast.decode(text_ids, skip_special_tokens=False)


class TextStream:
    """Incremental text of one completion. Its deltas add up to what `decode` returns for all tokens.

    A tokenizer may render a token differently at the beginning of a text, so the tokens of the last delta are
    decoded along with the new ones.
    """

    def __init__(self, encoder: TraceEncoder) -> None:
        """Start a completion."""
        self._encoder = encoder
        self._emitted: list[int] = []
        self._new: list[int] = []

    def add(self, token_ids: Sequence[int]) -> str | None:
        """The text that these tokens complete; None when an id has no token."""
        self._new += token_ids
        text = self._new_text()
        # U+FFFD is part of a character: the rest comes with the next tokens.
        if text is None or text.endswith("\ufffd"):
            return text and ""
        return self._emit(text)

    def finish(self) -> str | None:
        """The remaining text: bytes that never became a character."""
        text = self._new_text()
        return text and self._emit(text)

    def _new_text(self) -> str | None:
        before, after = decode(self._encoder, self._emitted), decode(self._encoder, self._emitted + self._new)
        return None if before is None or after is None else after[len(before) :]

    def _emit(self, text: str) -> str:
        if text:
            self._emitted, self._new = self._new, []
        return text
