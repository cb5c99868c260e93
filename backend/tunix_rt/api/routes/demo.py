"""The demo project: real results on this machine, made when somebody asks for them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, status

from tunix_rt.base.http.errors import error_responses
from tunix_rt.services.demo_project import DemoProject, DemoState

router = APIRouter(prefix="/api/demo", tags=["demo"], responses=error_responses())


async def _demo(request: Request) -> DemoProject:
    demo: DemoProject = request.app.state.demo
    return demo


Demo = Annotated[DemoProject, Depends(_demo)]


@router.get("", response_model_exclude_none=True)
def get_demo(demo: Demo) -> DemoState:
    """Whether the demo project was made, is being made, and what came out."""
    return demo.state()


@router.post(
    "", status_code=status.HTTP_202_ACCEPTED, responses=error_responses(409), response_model_exclude_none=True
)
def make_demo(demo: Demo) -> DemoState:
    """Make it: traces, a dataset, a trained tiny model, tests before and after. 409 while it is made."""
    return demo.start()
