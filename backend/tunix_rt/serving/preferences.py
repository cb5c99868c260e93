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
from tunix_rt.serving.types import NewPreference, PairTally, Preference, preference_line


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
    for count in votes.counts():
        if count.model_a == count.model_b:
            continue
        model, other = sorted((count.model_a, count.model_b))
        winner = {"a": count.model_a, "b": count.model_b}.get(count.choice)
        result = count.choice if winner is None else "won" if winner == model else "lost"
        results.setdefault((model, other), Counter())[result] += count.num_votes
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
    """Every vote for one of two answers as a JSON line."""
    with closing(votes.iter_all()) as every:
        for vote in every:
            line = preference_line(vote)
            if line is not None:
                yield json.dumps(line, ensure_ascii=False, separators=(",", ":"))
