"""Eval sets: list, and look into one."""

from fastapi import APIRouter

from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import Limit, Offset, OpenHome
from tunix_rt.services import evalset_listing

router = APIRouter(prefix="/api/evalsets", tags=["evalsets"], responses=error_responses())


@router.get("")
def list_evalsets(home: OpenHome) -> evalset_listing.EvalSetList:
    """The shipped eval sets and those in the home directory, with what they consist of."""
    return evalset_listing.list_evalsets(home.settings)


@router.get("/{name}", responses=error_responses(404), response_model_exclude_defaults=True)
def get_evalset(
    name: str, home: OpenHome, limit: Limit = 20, offset: Offset = 0
) -> evalset_listing.EvalSetDetail:
    """What an eval set consists of, and a page of its items. 404 if unknown, 422 if it cannot be used."""
    return evalset_listing.get_evalset(home.settings, name, limit=limit, offset=offset)
