"""Store, list and export blind votes."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from uuid import uuid4

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.records import Pagination, pagination
from tunix_rt.base.statistics import wilson_share
from tunix_rt.serving.store import PreferenceRepository
from tunix_rt.serving.types import Candidate, ChatMessage, NewPreference, PairTally, Preference
from tunix_rt.traces.types import DEFAULT_MARKUP


class PreferenceList(BaseModel):
    """A page of votes, newest first, with the tallies over all votes."""

    model_config = ConfigDict(frozen=True)
    data: tuple[Preference, ...]
    pagination: Pagination
    tallies: tuple[PairTally, ...]


def add_preference(votes: PreferenceRepository, new: NewPreference) -> Preference:
    """Store a vote under a new id."""
    vote = Preference(**dict(new), id=uuid4(), created_at=datetime.now(UTC))
    votes.add(vote)
    return vote


def list_preferences(votes: PreferenceRepository, *, limit: int, offset: int) -> PreferenceList:
    """A page of votes with the tally of each pair of models.

    Sides do not matter for the tallies; votes between two answers of one model are ignored.
    """
    found, total = votes.list(limit=limit, offset=offset)
    results: dict[tuple[str, str], Counter[str]] = {}
    for model_a, model_b, choice, num_votes in votes.counts():
        if model_a == model_b:
            continue
        model, other = sorted((model_a, model_b))
        winner = {"a": model_a, "b": model_b}.get(choice)
        result = choice if winner is None else "won" if winner == model else "lost"
        results.setdefault((model, other), Counter())[result] += num_votes
    tallies = [
        PairTally(
            model=model,
            other=other,
            wins=wilson_share(result["won"], result["won"] + result["lost"]),
            num_ties=result["tie"],
            num_neither=result["neither"],
        )
        for (model, other), result in sorted(results.items())
    ]
    pages = pagination(limit, offset, len(found), total)
    return PreferenceList(data=found, pagination=pages, tallies=tuple(tallies))


def preference_lines(votes: PreferenceRepository) -> Iterator[str]:
    """Every vote for one of two answers as a JSON line of conversations in TRL's format."""
    with closing(votes.iter_all()) as every:
        for vote in every:
            if vote.choice not in ("a", "b"):
                continue
            chosen, rejected = (vote.a, vote.b) if vote.choice == "a" else (vote.b, vote.a)
            line = {
                "prompt": [message.to_template(DEFAULT_MARKUP) for message in vote.messages],
                "chosen": [_turn(chosen)],
                "rejected": [_turn(rejected)],
                "chosen_model": chosen.model,
                "rejected_model": rejected.model,
            }
            yield json.dumps(line, ensure_ascii=False, separators=(",", ":"))


def _turn(answer: Candidate) -> dict[str, str]:
    content, reasoning = answer.content, answer.reasoning_content
    turn = ChatMessage(role="assistant", content=content, reasoning_content=reasoning)
    return turn.to_template(DEFAULT_MARKUP)
