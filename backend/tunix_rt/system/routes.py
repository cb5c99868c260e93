"""Health, doctor, demo."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, status

from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import OpenHome, ThreadedRoute
from tunix_rt.system.demo import DemoProject, DemoState
from tunix_rt.system.doctor import CachedDiagnosis, Examination
from tunix_rt.system.health import Health, check_health

router = APIRouter(prefix="/api/demo", tags=["demo"], responses=error_responses())


async def _demo(request: Request) -> DemoProject:
    demo: DemoProject = request.app.state.demo
    return demo


Demo = Annotated[DemoProject, Depends(_demo)]


@router.get("", response_model_exclude_none=True)
def get_demo(demo: Demo) -> DemoState:
    """The status of the demo project, and its result."""
    return demo.state()


@router.post(
    "", status_code=status.HTTP_202_ACCEPTED, responses=error_responses(409), response_model_exclude_none=True
)
def make_demo(demo: Demo) -> DemoState:
    """Start the demo: traces, a dataset, a tiny trained model, tests before and after. 409 while it runs."""
    return demo.start()


doctor_router = APIRouter(prefix="/api/doctor", tags=["doctor"], responses=error_responses())


@doctor_router.get("", response_model_exclude_none=True)
def get_diagnosis(
    request: Request,
    fresh: Annotated[bool, Query(description="run the diagnosis again, even if it is recent")] = False,
) -> Examination:
    """The machine, its engines and devices, and their problems; the first call takes seconds."""
    doctor: CachedDiagnosis = request.app.state.doctor
    return doctor.get(is_fresh=fresh)


health_router = APIRouter(
    prefix="/api/health", tags=["health"], responses=error_responses(), route_class=ThreadedRoute
)


@health_router.get("")
def health(home: OpenHome) -> Health:
    """Query the database. 503 when it does not answer."""
    return check_health(home)
