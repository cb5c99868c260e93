"""requirements.lock agrees with the other version files and has a hash for every file."""

import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from supply_chain.locked import ROOT, npm_lock, python_lock, read_pins
from supply_chain.pinning import with_new_pins

NOT_LOCKED = {"torch"}
"""The torch build depends on the machine; see CONTRIBUTING.md."""


def versions(path: Path) -> dict[str, str]:
    return {package.name: package.version for package in read_pins(path.read_text(encoding="utf-8"))}


def requirements_of(texts: list[str], extras: dict[str, list[str]]) -> list[Requirement]:
    """Return the requirements for this platform, with our own extras expanded."""
    found: list[Requirement] = []
    for requirement in map(Requirement, texts):
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        inner = (
            [text for extra in requirement.extras for text in extras[extra]]
            if requirement.name == "tunix-rt"
            else []
        )
        found += requirements_of(inner, extras) if inner else [requirement]
    return found


def project_requirements() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    return requirements_of(texts, project["optional-dependencies"])


def installed_version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"


def test_lock_matches_the_constraints() -> None:
    constraints = versions(ROOT / "constraints.txt")
    locked = versions(ROOT / "requirements.lock")
    assert {name: (version, constraints.get(name)) for name, version in locked.items()} == {
        name: (version, version) for name, version in locked.items()
    }, "Run: make lock, and put new packages into constraints.txt"


def test_every_locked_package_has_hashes() -> None:
    assert [package.name for package in python_lock() if not package.hashes] == []


def test_locked_versions_satisfy_dependencies() -> None:
    locked = versions(ROOT / "requirements.lock")
    requirements = [
        requirement
        for requirement in project_requirements()
        if canonicalize_name(requirement.name) not in NOT_LOCKED
    ]
    assert len(requirements) > 40
    wrong = [
        f"{requirement} is locked at {locked.get(canonicalize_name(requirement.name))}"
        for requirement in requirements
        if not requirement.specifier.contains(
            locked.get(canonicalize_name(requirement.name), "0"), prereleases=True
        )
    ]
    assert wrong == [], "Run: make lock"


def test_lock_excludes_torch_and_cuda() -> None:
    names = {package.name for package in python_lock()}
    assert {
        name for name in names if name == "torch" or name.startswith(("nvidia", "cuda", "triton"))
    } == set()


def test_installed_versions_match_the_lock() -> None:
    needed = [package for package in python_lock() if package.is_needed_here]
    assert len(needed) > 150
    wrong = {
        package.name: f"{installed} is installed, {package.version} is locked"
        for package in needed
        if (installed := installed_version(package.name)) != package.version
    }
    assert wrong == {}, "Run: make test, which installs what is locked"


@pytest.mark.parametrize(
    ("line", "needed"),
    [("a==1", True), ("a==1 ; python_version >= '3'", True), ("a==1 ; sys_platform == 'amiga'", False)],
)
def test_markers_select_needed_packages(line: str, needed: bool) -> None:
    (package,) = read_pins(f"# a comment\n{line} \\\n    --hash=sha256:{'0' * 64}\n")
    assert (package.name, package.version, package.is_needed_here) == ("a", "1", needed)
    assert package.hashes == (f"sha256:{'0' * 64}",)


def test_every_npm_package_has_a_hash() -> None:
    assert len(npm_lock()) > 100
    text = (ROOT / "frontend" / "package-lock.json").read_text(encoding="utf-8")
    assert text.count('"integrity": "sha512-') == len(npm_lock())


def test_new_pins_keep_existing_ones() -> None:
    locked = read_pins("b==2\na==3\n")
    assert with_new_pins("b==1\nC==1\n", locked) == "a==3\nb==1\nC==1\n"
