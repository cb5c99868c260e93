"""A conversation of one person with one model, in one process."""

import itertools
from collections.abc import Generator as PythonGenerator
from dataclasses import dataclass

from tunix_rt.core.chat.completion import FinishReason
from tunix_rt.core.chat.request import ChatMessage
from tunix_rt.engines.types import Decoding
from tunix_rt.services.serving.wire import Failed, Said, WriteOrder
from tunix_rt.services.serving.writing import ChatWriter


@dataclass
class Answer:
    """What the model has said so far."""

    reasoning: str = ""
    content: str = ""
    num_tokens: int = 0
    finish: FinishReason | None = None
    """None while it is being written, and when somebody stopped it."""

    def add(self, said: Said) -> None:
        """Take another piece."""
        self.reasoning += said.reasoning
        self.content += said.content
        self.num_tokens += said.num_tokens
        self.finish = said.finish

    @property
    def message(self) -> ChatMessage:
        """As the next turn sees it."""
        return ChatMessage(role="assistant", content=self.content, reasoning_content=self.reasoning or None)


class Chat:
    """Remembers what was said; every question is asked with all of it."""

    def __init__(self, writer: ChatWriter, decoding: Decoding, *, system: str | None = None) -> None:
        """Begin with an instruction, or with nothing."""
        self._writer = writer
        self._decoding = decoding
        self._beginning = () if system is None else (ChatMessage(role="system", content=system),)
        self._messages = self._beginning
        self._ids = itertools.count()

    def forget(self) -> None:
        """Begin anew."""
        self._messages = self._beginning

    def ask(self, question: str) -> PythonGenerator[Answer, None, None]:
        """The answer as it grows. Whoever stops listening stops it; what was said until then is remembered.

        Raises:
            TunixRTError: The model cannot answer this; the question is forgotten.
        """
        messages = (*self._messages, ChatMessage(role="user", content=question))
        order = WriteOrder(order_id=next(self._ids), messages=messages, decoding=self._decoding)
        begun = self._writer.begin(order)
        if isinstance(begun, Failed):
            raise begun.error()
        answer = Answer()
        try:
            yield from self._growing(answer)
        finally:
            self._writer.drop(order.order_id)
            if answer.num_tokens:
                self._messages = (*messages, answer.message)

    def _growing(self, answer: Answer) -> PythonGenerator[Answer, None, None]:
        while self._writer.is_busy:
            for report in self._writer.advance():
                if isinstance(report, Failed):
                    raise report.error()
                answer.add(report)
            yield answer
