"""Is everything that a request needs really there?"""

import time
from typing import Literal

from pydantic import BaseModel, ConfigDict

from tunix_rt import __version__
from tunix_rt.base.db.statements import ping
from tunix_rt.base.home import Home


class Health(BaseModel):
    """A working server. One that does not work answers 503 with the reason."""

    model_config = ConfigDict(frozen=True)
    status: Literal["healthy"]
    version: str
    database: Literal["sqlite", "postgresql"]
    database_latency_ms: float


def check_health(home: Home) -> Health:
    """Query the database and time it. StorageError when it does not answer."""
    started = time.perf_counter()
    ping(home.database)
    latency_ms = (time.perf_counter() - started) * 1000
    database: Literal["sqlite", "postgresql"] = (
        "sqlite" if home.database.dialect.name == "sqlite" else "postgresql"
    )
    return Health(
        status="healthy", version=__version__, database=database, database_latency_ms=round(latency_ms, 3)
    )
