"""Is it really working?"""

from fastapi import APIRouter

from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import OpenHome, ThreadedRoute
from tunix_rt.services.health import Health, check_health

router = APIRouter(
    prefix="/api/health", tags=["health"], responses=error_responses(), route_class=ThreadedRoute
)


@router.get("")
def health(home: OpenHome) -> Health:
    """Ask the database something. 503 when it does not answer."""
    return check_health(home)
