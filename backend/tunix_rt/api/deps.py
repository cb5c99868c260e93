"""What routes receive.

Those that only look something up are `async`: others run in a thread each, which costs more than they do.
"""

from typing import Annotated

from fastapi import Depends, Request

from tunix_rt.db.traces import TraceRepository
from tunix_rt.services.store import Store


async def get_store(request: Request) -> Store:
    """The store that the app was made with."""
    store: Store = request.app.state.store
    return store


async def get_traces(store: Annotated[Store, Depends(get_store)]) -> TraceRepository:
    """The trace repository of that store."""
    return store.traces


OpenStore = Annotated[Store, Depends(get_store)]
Traces = Annotated[TraceRepository, Depends(get_traces)]
