"""`python -m tunix_rt.api.openapi` prints the OpenAPI document for the TypeScript client."""

import json
import sys
from typing import Any

from tunix_rt.api.app import create_app
from tunix_rt.base.db.engine import open_engine
from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings


def openapi_document() -> dict[str, Any]:
    """The description of every route. It neither connects nor writes anything.

    Example:
        openapi_document()["paths"]["/api/health"]["get"]
    """
    return create_app(Home(Settings(), open_engine("sqlite://"))).openapi()


if __name__ == "__main__":
    json.dump(openapi_document(), sys.stdout, indent=2)
