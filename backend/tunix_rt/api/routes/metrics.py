"""Figures for Prometheus."""

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from tunix_rt.api.metrics import Measurements
from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.transfers import text_answer

router = APIRouter(tags=["health"], responses=error_responses())


@router.get("/metrics", response_class=Response, responses=text_answer("text/plain"))
def metrics(request: Request) -> Response:
    """Runs, queue, workers, requests and this process, in Prometheus' text format."""
    measurements: Measurements = request.app.state.measurements
    return Response(generate_latest(measurements.registry), media_type=CONTENT_TYPE_LATEST)
