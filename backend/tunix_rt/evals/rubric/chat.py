"""What grading needs from an endpoint, and how one request can fail."""

from dataclasses import dataclass
from typing import Any, Protocol

from tunix_rt.core.evaluation.rubric import GradeFailureCode, JudgeUsage


@dataclass(frozen=True)
class Reply:
    """What a judge wrote, and what it took."""

    text: str
    usage: JudgeUsage


class Chat(Protocol):
    """An endpoint that completes a conversation; calls come from several threads."""

    def complete(self, body: dict[str, Any]) -> Reply:
        """Send one request; try again where that can help.

        Raises:
            RequestRefusedError: The endpoint does not take a request like this one.
            NoReplyError: There is no reply to this request; others may fare better.
            JudgeError: No request can succeed.
        """


class NoReplyError(Exception):
    """There is no usable reply to one request: a typed failure of one text."""

    def __init__(self, code: GradeFailureCode, detail: str) -> None:
        super().__init__(detail)
        self.code: GradeFailureCode = code
        self.detail = detail


class RequestRefusedError(NoReplyError):
    """The endpoint says that the request itself is wrong; `detail` holds its words."""

    def __init__(self, detail: str) -> None:
        super().__init__("refused", detail)
