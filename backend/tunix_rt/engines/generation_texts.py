"""Token ids as text while they are being written: a character may take several tokens."""

from collections.abc import Sequence

from tunix_rt.engines.generation_prompts import decode
from tunix_rt.tokenization.encoding import TraceEncoder

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
