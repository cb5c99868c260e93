import pytest

from tunix_rt.base.home import Home
from tunix_rt.traces.store import TraceRepository


@pytest.fixture
def repository(store: Home) -> TraceRepository:
    """An empty trace repository, once per database."""
    return TraceRepository(store.database)
