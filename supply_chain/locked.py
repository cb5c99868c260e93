"""The packages of requirements.lock and of package-lock.json, read."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.markers import Marker
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PYTHON_LOCK = ROOT / "requirements.lock"
NPM_LOCK = ROOT / "frontend" / "package-lock.json"

_PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^\s;\\]+)(?:\s*;\s*(?P<marker>[^\\]+?))?\s*\\?$")
_HASH = re.compile(r"--hash=(sha256:[0-9a-f]{64})\b")


@dataclass(frozen=True)
class LockedPackage:
    """One version of one Python package, and the files of it that may be installed."""

    name: str
    version: str
    marker: str | None
    """Where it is needed. None: everywhere."""
    hashes: tuple[str, ...]

    @property
    def is_needed_here(self) -> bool:
        """Whether this Python on this platform needs it."""
        return self.marker is None or Marker(self.marker).evaluate()


@dataclass(frozen=True)
class NpmPackage:
    """One entry of package-lock.json."""

    name: str
    version: str
    licence: str | None
    deprecated: str | None


def read_pins(text: str) -> list[LockedPackage]:
    """The pins of a requirements or constraints file, in its order.

    Example:
        "idna==3.20" -> [LockedPackage("idna", "3.20", marker=None, hashes=())]
    """
    return list(_pins(text))


def python_lock(path: Path = PYTHON_LOCK) -> list[LockedPackage]:
    """The Python packages that the tests run with; torch is not among them."""
    return read_pins(path.read_text(encoding="utf-8"))


def npm_lock(path: Path = NPM_LOCK) -> list[NpmPackage]:
    """The npm packages of the web app and of its tools."""
    entries = json.loads(path.read_bytes())["packages"]
    return [_npm_package(where, entry) for where, entry in entries.items() if where]


def _pins(text: str) -> Iterator[LockedPackage]:
    for block in re.split(r"\n(?=[^\s#])", text):
        first = next((line for line in block.splitlines() if line and not line.startswith("#")), "")
        if pin := _PIN.match(first):
            name, version, marker = pin["name"], pin["version"], pin["marker"]
            yield LockedPackage(canonicalize_name(name), version, marker, tuple(_HASH.findall(block)))


def _npm_package(where: str, entry: dict[str, str]) -> NpmPackage:
    name = entry.get("name") or where.rpartition("node_modules/")[2]
    return NpmPackage(name, entry["version"], entry.get("license"), entry.get("deprecated"))
