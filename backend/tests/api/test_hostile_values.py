"""Values that a database, JSON or a file cannot hold get 4xx; every response carries the security headers."""

import json
import re
import stat
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from support.apps import make_app
from support.submitting import SMALL_RECIPE, build_demo
from support.sweeps import LEARNING_RATE

from tunix_rt.api.access import Access
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.http.errors import SECURITY_HEADERS
from tunix_rt.base.settings import Settings

BASE_URL = "http://127.0.0.1:8000"
HOSTILE = ['"a\\ud800b"', '"a\\u0000b"', '"\\\\0"', "NaN", "Infinity", "1e400", "1" + "0" * 400, '""', "{}",
           "[]", "1" + "0" * 19, '{"a\\u0000": 1}',
           '{"a\\ud800": 1}', '["a\\u0000"]', '".nan"', "-1"]  # fmt: skip
JOB = {"name": "rates", "recipe": SMALL_RECIPE, "search_space": {"training.learning_rate": LEARNING_RATE},
       "metric_name": "loss", "num_samples": 4}  # fmt: skip
RUN = {"recipe": SMALL_RECIPE, "device": "cpu", "name": "n", "overrides": ["training.num_steps=2"],
       "dataset": "demo-v1", "eval_set": "eval_v2", "target": "t4"}  # fmt: skip
BODIES: dict[str, dict[str, Any]] = {
    "/api/tunix/runs": RUN,
    "/api/tunix/plans": RUN,
    "/api/tuning/jobs": JOB,
    "/api/tuning/jobs#choices": JOB | {
        "search_space": {"data.chat_template": {"type": "choice", "values": ["chatml", "tunix-rt"]}}},
    "/api/tunix/sft/manifest": {"dataset_key": "demo-v1", "model_id": "tiny-gemma"},
    "/api/tasks": {"kind": "evaluation", "model": "a", "eval_set": "eval_v2"},
    "/api/models": {"name": "m", "description": "d", "tags": {"a": "b"}},
    "/api/datasets/preview": {"dataset_name": "x", "provenance": {"a": "b"}},
    "/v1/chat/completions": {"model": "a", "messages": [{"role": "user", "content": "x"}], "stop": "a"},
    "/api/regression/check": {"baseline_name": "a", "run_id": "b"},
}  # fmt: skip
PAGES = ["/docs", "/", "/api/traces", "/api/none", "/none", "/assets/none.js", "/openapi.json", "/metrics",
         "/api/datasets/demo-v1/xray.html", "/static-offline-docs/swagger-ui.css", "/api/health",
         "/api/models/a%00", "/v1/models/%00", "/api/tunix/runs?model=%00"]  # fmt: skip


@pytest.fixture
def http(store: Home) -> TestClient:
    build_demo(store.settings)
    app = make_app(store, Access(requires_token=False))
    return TestClient(app, base_url=BASE_URL, raise_server_exceptions=False)


def variants(body: dict[str, Any]) -> list[str]:
    """The body with each of its values replaced by each hostile one, as text: JSON cannot express some."""
    mark = '"@"'
    found = []

    def replace(value: Any, rebuild: Any) -> None:
        found.append(rebuild("@"))
        if isinstance(value, dict):
            for key, inner in value.items():
                replace(inner, lambda new, key=key: rebuild({**value, key: new}))
        elif isinstance(value, list):
            replace(value[0], lambda new: rebuild([new]))

    for key, value in body.items():
        replace(value, lambda new, key=key: {**body, key: new})
    texts = [json.dumps(one) for one in found]
    return [text.replace(mark, hostile) for text in texts for hostile in HOSTILE]


def require_headers(headers: Any) -> None:
    for name, value in SECURITY_HEADERS.items():
        assert headers.get_list(name.decode()) == [value.decode()]
    (policy,) = headers.get_list("content-security-policy")
    assert "default-src" in policy
    assert "frame-ancestors 'none'" in policy
    assert "script-src 'unsafe-inline'" not in policy


@pytest.mark.parametrize("path", BODIES)
def test_hostile_values_never_answer_500(http: TestClient, path: str) -> None:
    for text in variants(BODIES[path]):
        sent = {"content": text.encode(), "headers": {"content-type": "application/json"}}
        response = http.post(path.partition("#")[0], **sent)
        assert response.status_code < 500, (text, response.text)
        require_headers(response.headers)


def test_every_page_carries_the_headers(http: TestClient) -> None:
    for path in PAGES:
        response = http.get(path, headers={"accept": "text/html"})
        assert response.status_code < 500 or path == "/", (path, response.text)
        require_headers(response.headers)
    require_headers(http.get("/", headers={"host": "evil.example"}).headers)
    require_headers(http.get("/", headers={"origin": "http://evil.example"}).headers)
    require_headers(http.get("/api/traces", headers={"authorization": "Bearer trt_x"}).headers)


def test_internal_error_carries_the_headers(store: Home) -> None:
    app = make_app(store, Access(requires_token=False))

    def fail() -> None:
        raise ZeroDivisionError

    app.add_api_route("/api/fails", fail)
    response = TestClient(app, base_url=BASE_URL, raise_server_exceptions=False).get("/api/fails")
    assert response.status_code == 500
    require_headers(response.headers)


@pytest.mark.parametrize("path", ["/docs", "/api/datasets/demo-v1/xray.html"])
def test_pages_run_only_their_own_scripts(http: TestClient, path: str) -> None:
    page = http.get(path)
    scripts = re.findall(r"<script>(.*?)</script>", page.text, flags=re.DOTALL)
    assert scripts
    for script in scripts:
        digest = b64encode(sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in page.headers["content-security-policy"]


def test_home_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    open_home(Settings(home=tmp_path / "new")).close()
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "new" / "tunix_rt.db").stat().st_mode) == 0o600
    (tmp_path / "shared").mkdir(mode=0o755)
    open_home(Settings(home=tmp_path / "shared")).close()
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "shared" / "tunix_rt.db").stat().st_mode) == 0o600
