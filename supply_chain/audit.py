"""`make audit`: what is known against our dependencies, from whoever can be asked from this machine.

A question that could not be put is printed as such: silence of a service is never "no vulnerabilities".
Exit 1: something is known against a dependency; with --complete also when a question stays open.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata

from supply_chain.index_pages import NotAskedError, known_vulnerabilities, yanked_files
from supply_chain.locked import ROOT, LockedPackage, npm_lock, python_lock
from supply_chain.policy import load_policy

_NPM_TIMEOUT_S = 120
_NUM_THREADS = 8

Ask = Callable[[str, str], Iterable[str]]
"""Name and version of a package -> what is known against it."""


@dataclass(frozen=True)
class Answer:
    """What one question brought."""

    question: str
    num_asked: int = 0
    findings: tuple[str, ...] = ()
    not_asked: str | None = None
    """Why the question, or part of it, stays open."""

    def __str__(self) -> str:
        """One line, and one for each finding."""
        state = "NOT ASKED" if not self.num_asked else f"{self.num_asked} asked, {len(self.findings)} found"
        why = "" if self.not_asked is None else f" ({self.not_asked})"
        return "\n".join([f"{self.question}: {state}{why}", *(f"  {finding}" for finding in self.findings)])


def main(arguments: list[str] | None = None) -> int:
    """Ask everything, print every answer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--complete", action="store_true", help="fail when a question stays open")
    complete = parser.parse_args(arguments).complete
    accepted = load_policy().accepted_vulnerabilities.keys()
    answers = [
        installed_as_locked(),
        of_each("yanked Python releases", python_lock(), yanked_files),
        of_each("vulnerabilities of Python packages", python_lock(), known_vulnerabilities, accepted),
        deprecated_npm_packages(),
        npm_vulnerabilities(),
        npm_signatures(),
    ]
    for answer in answers:
        print(answer)
    return verdict(answers, complete=complete)


def verdict(answers: Iterable[Answer], *, complete: bool) -> int:
    """The exit code: 1 when anything was found, or when all must be asked and was not."""
    answers = list(answers)
    num_found = sum(len(answer.findings) for answer in answers)
    num_open = sum(answer.not_asked is not None for answer in answers)
    print(f"{num_found} findings; {num_open} of {len(answers)} questions stay open on this machine")
    if num_found:
        print(
            "next: take a release without it, or say in supply_chain/policy.toml why it does not concern us"
        )
    return 1 if num_found or (complete and num_open) else 0


def installed_as_locked() -> Answer:
    """Whether this environment holds the locked versions, which are those that are asked about."""
    needed = [package for package in python_lock() if package.is_needed_here]
    installed = {package.name: _installed_version(package.name) for package in needed}
    findings = [
        f"{package.name}: {package.version} is locked, {installed[package.name]} is installed"
        for package in needed
        if installed[package.name] != package.version
    ]
    return Answer("Python packages are those of the lock", len(needed), tuple(findings))


def of_each(question: str, packages: list[LockedPackage], ask: Ask, accepted: Collection[str] = ()) -> Answer:
    """Put one question for every package; one that cannot be put leaves the others to be asked.

    An index that does not answer for the first is not asked about the rest.
    """

    def one(package: LockedPackage) -> list[str] | NotAskedError:
        try:
            return [found for found in ask(package.name, package.version) if found not in accepted]
        except NotAskedError as error:
            return error

    first = one(packages[0])
    if isinstance(first, NotAskedError):
        return Answer(question, not_asked=str(first))
    with ThreadPoolExecutor(_NUM_THREADS) as pool:
        answers = [(packages[0], first), *zip(packages[1:], pool.map(one, packages[1:]), strict=True)]
    failures = [answer for _, answer in answers if isinstance(answer, NotAskedError)]
    findings = [
        f"{package.name} {package.version}: {found}"
        for package, answer in answers
        if isinstance(answer, list)
        for found in answer
    ]
    not_asked = f"not about {len(failures)}: {failures[0]}" if failures else None
    return Answer(question, len(answers) - len(failures), tuple(findings), not_asked)


def deprecated_npm_packages() -> Answer:
    """What package-lock.json kept of the warnings that npm had when it was written."""
    packages = npm_lock()
    findings = [f"{one.name} {one.version}: {one.deprecated}" for one in packages if one.deprecated]
    return Answer("deprecated npm packages, as of the lock", len(packages), tuple(findings))


def npm_vulnerabilities() -> Answer:
    """`npm audit`, which asks the registry about the whole tree at once."""
    question = "vulnerabilities of npm packages"
    report = _npm_json("audit", "--package-lock-only", "--json")
    if not isinstance(report, dict) or "vulnerabilities" not in report:
        return Answer(question, not_asked="the registry does not answer npm audit")
    found = [f"{name}: {entry['severity']}" for name, entry in report["vulnerabilities"].items()]
    return Answer(question, len(npm_lock()), tuple(found))


def npm_signatures() -> Answer:
    """`npm audit signatures`: whether the registry signed what is installed."""
    question = "signatures of npm packages"
    report = _npm_json("audit", "signatures", "--json")
    if not isinstance(report, dict) or not {"invalid", "missing"} <= report.keys():
        return Answer(question, not_asked="the registry does not give its keys")
    found = [
        f"{one['name']} {one['version']}: {kind}" for kind in ("invalid", "missing") for one in report[kind]
    ]
    return Answer(question, len(npm_lock()), tuple(found))


def _npm_json(*arguments: str) -> object:
    """What npm prints; None: nothing that can be read, or not in time."""
    command = ["npm", *arguments, "--fetch-retries=0"]
    try:
        done = subprocess.run(
            command, cwd=ROOT / "frontend", capture_output=True, text=True, timeout=_NPM_TIMEOUT_S
        )
        return json.loads(done.stdout)
    except (subprocess.TimeoutExpired, FileNotFoundError, json.JSONDecodeError):
        return None


def _installed_version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "nothing"


if __name__ == "__main__":
    sys.exit(main())
