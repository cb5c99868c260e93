"""The built web app.

The files contain no data, so they need no token; the API requests of the page do.
"""

import base64
import hashlib
from pathlib import Path

from fastapi.openapi.docs import get_swagger_ui_html
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

BUILT = Path(__file__).parents[1] / "web"
"""Where `make web` puts the app; wheels include it."""
_NOT_PAGES = ("/api", "/v1", "/metrics", "/docs", "/openapi.json", "/static-offline-docs", "/assets")
"""Never answered with the page, because a script that mistypes a route must get an error."""
_FOREVER = "public, max-age=31536000, immutable"
# `data:` is for images in style sheets.
_CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_DOCS_FILES = "/static-offline-docs"
_NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Tunix RT: the web app is not built</title></head>
<body><main><h1>The web app is not built</h1>
<p>In the source tree, run <code>make web</code>, then reload this page. Wheels include the app.</p>
<p>The API is available: <a href="/docs">API documentation</a>.</p></main></body></html>
"""


def docs_page(openapi_url: str) -> HTMLResponse:
    """The API documentation, which runs its own scripts only and loads nothing from other servers."""
    page = get_swagger_ui_html(
        openapi_url=openapi_url,
        title="Tunix RT: the API",
        swagger_js_url=f"{_DOCS_FILES}/swagger-ui-bundle.js",
        swagger_css_url=f"{_DOCS_FILES}/swagger-ui.css",
        swagger_favicon_url=f"{_DOCS_FILES}/favicon.png",
    )
    script = bytes(page.body).rpartition(b"<script>")[2].partition(b"</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
    # Swagger UI writes styles into its elements.
    page.headers["content-security-policy"] = (
        f"{_CONTENT_SECURITY_POLICY}; script-src 'self' 'sha256-{digest}'; style-src 'self' 'unsafe-inline'"
    )
    return page


def is_web_path(path: str) -> bool:
    """Whether the path belongs to the web app, not to the API.

    Example:
        "/", "/runs/abc", "/assets/index-1a2b.js" -> True; "/api/runs", "/metrics" -> False
    """
    return _is_under(path, ("/assets",)) or not _is_under(path, _NOT_PAGES)


class WebApp:
    """Handles paths without a route: with a file of the app, its page, or `otherwise`."""

    def __init__(self, otherwise: ASGIApp, directory: Path) -> None:
        self._otherwise = otherwise
        self._directory = directory
        self._files = StaticFiles(directory=directory, check_dir=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the file or the page; paths outside the directory are refused."""
        response = await self._response(scope) if scope["type"] == "http" else None
        if response is None:
            await self._otherwise(scope, receive, send)
        else:
            await GZipMiddleware(response)(scope, receive, send)

    async def _response(self, scope: Scope) -> Response | None:
        path = scope["path"]
        if scope["method"] not in ("GET", "HEAD") or not is_web_path(path):
            return None
        if path != "/":
            if file := await self._file(path, scope):
                return file
            accepts_html = "text/html" in Headers(scope=scope).get("accept", "")
            if _is_under(path, _NOT_PAGES) or not accepts_html:
                return None
        page = await self._file("/index.html", scope)
        return page or HTMLResponse(_NOT_BUILT, status_code=503, headers={"cache-control": "no-store"})

    async def _file(self, path: str, scope: Scope) -> Response | None:
        try:
            response = await self._files.get_response(path.lstrip("/"), scope)
        except HTTPException:
            return None
        headers = MutableHeaders(raw=response.raw_headers)
        # Assets are named by their content.
        headers["cache-control"] = _FOREVER if _is_under(path, ("/assets",)) else "no-cache"
        headers["content-security-policy"] = _CONTENT_SECURITY_POLICY
        return response


def _is_under(path: str, prefixes: tuple[str, ...]) -> bool:
    return any(path == prefix or path.startswith(f"{prefix}/") for prefix in prefixes)
