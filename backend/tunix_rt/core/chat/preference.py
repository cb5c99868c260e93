"""Which of two answers a person preferred, not knowing whose they were: the wire of `/api/preferences`."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from tunix_rt.base.records import Record, StorableText
from tunix_rt.base.statistics import Share
from tunix_rt.core.chat.request import ChatMessage
from tunix_rt.traces.types import DEFAULT_MARKUP

MAX_ANSWER_CHARS = 200_000

PreferredSide = Literal["a", "b", "tie", "neither"]
"""`tie`: both are good. `neither`: both are bad."""
Answer = Annotated[StorableText, Field(max_length=MAX_ANSWER_CHARS)]


class Candidate(Record):
    """One of the two answers."""

    model: Annotated[StorableText, Field(min_length=1, max_length=256)]
    """`name:version` of the registry or the id of a run: weights, not a name that moves."""
    content: Answer
    reasoning_content: Answer | None = None


class NewPreference(Record):
    """The body of `POST /api/preferences`."""

    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1, max_length=1_000)]
    """The conversation that both went on with."""
    a: Candidate
    b: Candidate
    choice: PreferredSide


class Preference(NewPreference):
    """A vote that is kept."""

    id: UUID
    created_at: datetime


class PairTally(Record):
    """How two models stand against each other, over all votes."""

    model: str
    other: str
    wins: Share
    """Votes for `model`, of those that chose one of the two."""
    num_ties: int
    num_neither: int


def preference_line(vote: Preference) -> dict[str, Any] | None:
    """`{"prompt", "chosen", "rejected"}` as conversations, as TRL reads them; None if neither was chosen."""
    if vote.choice not in ("a", "b"):
        return None
    chosen, rejected = (vote.a, vote.b) if vote.choice == "a" else (vote.b, vote.a)
    return {
        "prompt": [message.as_written(DEFAULT_MARKUP) for message in vote.messages],
        "chosen": [_turn(chosen)],
        "rejected": [_turn(rejected)],
        "chosen_model": chosen.model,
        "rejected_model": rejected.model,
    }


def _turn(candidate: Candidate) -> dict[str, str]:
    turn = ChatMessage(
        role="assistant", content=candidate.content, reasoning_content=candidate.reasoning_content
    )
    return turn.as_written(DEFAULT_MARKUP)
