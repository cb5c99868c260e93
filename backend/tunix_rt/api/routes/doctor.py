"""What works on the machine of the server."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tunix_rt.base.http.errors import error_responses
from tunix_rt.services.kept_diagnosis import Examination, KeptDiagnosis

router = APIRouter(prefix="/api/doctor", tags=["doctor"], responses=error_responses())


async def _doctor(request: Request) -> KeptDiagnosis:
    doctor: KeptDiagnosis = request.app.state.doctor
    return doctor


@router.get("", response_model_exclude_none=True)
def get_diagnosis(
    doctor: Annotated[KeptDiagnosis, Depends(_doctor)],
    fresh: Annotated[bool, Query(description="examine again, also when that was a moment ago")] = False,
) -> Examination:
    """The machine, its engines and devices, and what is wrong with them; takes seconds the first time."""
    return doctor.get(is_fresh=fresh)
