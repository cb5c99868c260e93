"""Apps for tests. All apps of a process share their routes, which are stateless.

FastAPI builds the routes of an app on its first request, which takes 0.3 s. Live servers in child processes
build their own.
"""

from fastapi import FastAPI
from starlette.routing import BaseRoute

from tunix_rt.api.access import Access
from tunix_rt.api.app import create_app
from tunix_rt.base.home import Home

_shared_routes: list[BaseRoute] = []


def make_app(store: Home, access: Access | None = None) -> FastAPI:
    """Create an app that reuses the routes of the first app of this process."""
    app = create_app(store, access)
    if not _shared_routes:
        _shared_routes.extend(app.router.routes)
    app.router.routes = [*_shared_routes]
    return app
