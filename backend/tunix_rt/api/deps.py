"""What routes receive.

Those that only look something up are `async`: others run in a thread each, which costs more than they do.
"""

from typing import Annotated

from fastapi import Depends, Request

from tunix_rt.db.traces import TraceRepository
from tunix_rt.services.home import Home


async def get_home(request: Request) -> Home:
    """The store that the app was made with."""
    home: Home = request.app.state.home
    return home


async def get_traces(home: Annotated[Home, Depends(get_home)]) -> TraceRepository:
    """The trace repository of that store."""
    return TraceRepository(home.database)


OpenHome = Annotated[Home, Depends(get_home)]
Traces = Annotated[TraceRepository, Depends(get_traces)]
