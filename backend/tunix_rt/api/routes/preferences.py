"""Preferences: blind votes between two answers, and what they teach."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, status
from fastapi.responses import StreamingResponse

from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import CheckedRoute, Limit, Offset, OpenHome
from tunix_rt.base.http.transfers import download, spooled
from tunix_rt.core.chat.preference import NewPreference, Preference
from tunix_rt.db.preferences import PreferenceRepository
from tunix_rt.services import preferences as preference_service

router = APIRouter(
    prefix="/api/preferences", tags=["preferences"], responses=error_responses(), route_class=CheckedRoute
)

_LINES = "application/x-ndjson"
_FILE: dict[int | str, dict[str, Any]] = {200: {"content": {_LINES: {}}}}


async def _votes(home: OpenHome) -> PreferenceRepository:
    return PreferenceRepository(home.database)


Votes = Annotated[PreferenceRepository, Depends(_votes)]


@router.post(
    "",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(400),
    response_model_exclude_none=True,
)
def add_preference(vote: NewPreference, votes: Votes) -> Preference:
    """Keep which of two answers was preferred."""
    return preference_service.add_preference(votes, vote)


@router.get("", response_model_exclude_none=True)
def list_preferences(
    votes: Votes, limit: Limit = 20, offset: Offset = 0
) -> preference_service.PreferenceList:
    """A page of votes, newest first, and how each pair of models stands over all of them."""
    return preference_service.list_preferences(votes, limit=limit, offset=offset)


@router.get("/export.jsonl", responses=_FILE, response_class=StreamingResponse)
def export_preferences(votes: Votes) -> StreamingResponse:
    """Every vote for one of two answers as a preference pair: `prompt`, `chosen`, `rejected`."""
    return download(spooled(preference_service.preference_lines(votes)), "preferences.jsonl", _LINES)


@router.delete("/{vote_id}", status_code=status.HTTP_204_NO_CONTENT, responses=error_responses(404))
def delete_preference(vote_id: UUID, votes: Votes) -> None:
    """Forget a vote. 404 if unknown."""
    votes.remove(vote_id)
