"""Prompt prefixes to ids, and incremental detokenization."""

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


_UNFINISHED = "\ufffd"


class TextStream:
    """The text of one completion, piece by piece. The pieces together are what `decode` makes of all tokens.

    A tokenizer may write a token otherwise at the beginning of a text, so the tokens of the last piece are
    decoded along with the new ones.
    """

    def __init__(self, encoder: TraceEncoder) -> None:
        """Begin a completion."""
        self._encoder = encoder
        self._known: list[int] = []
        self._new: list[int] = []

    def add(self, token_ids: Sequence[int]) -> str | None:
        """The text that is complete with these tokens; None when one of them is no text at all."""
        self._new += token_ids
        text = self._new_text()
        # Half a character: the rest of it comes with the next tokens.
        if text is None or text.endswith(_UNFINISHED):
            return text and ""
        return self._passed_on(text)

    def finish(self) -> str | None:
        """What was left: bytes that have not become a character."""
        text = self._new_text()
        return text and self._passed_on(text)

    def _new_text(self) -> str | None:
        before, after = decode(self._encoder, self._known), decode(self._encoder, self._known + self._new)
        return None if before is None or after is None else after[len(before) :]

    def _passed_on(self, text: str) -> str:
        if text:
            self._known, self._new = self._new, []
        return text
