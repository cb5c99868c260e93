"""`make licences`: every dependency has a licence that policy.toml allows. Exit 1: one has not."""

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata

from license_expression import ExpressionError, get_spdx_licensing

from supply_chain.locked import npm_lock, python_lock
from supply_chain.policy import Policy, load_policy

UNKNOWN = "unknown"
_CLASSIFIER = "License :: "
_SPDX = get_spdx_licensing()


@dataclass(frozen=True)
class Licensed:
    """A package and the licence that it names; UNKNOWN: it names none that can be read."""

    name: str
    version: str
    licence: str


def python_licences(policy: Policy) -> tuple[list[Licensed], list[str]]:
    """The locked Python packages with torch, and the names of those that are not installed here."""
    found, absent = [], []
    for name in [*(package.name for package in python_lock()), "torch"]:
        try:
            about = metadata.metadata(name)
        except metadata.PackageNotFoundError:
            absent.append(name)
            continue
        classifiers = about.get_all("Classifier") or []
        declared = [next(iter(about.get_all(key) or []), None) for key in ("License-Expression", "License")]
        found.append(
            Licensed(name, about["Version"], spdx_expression(declared[0], declared[1], classifiers, policy))
        )
    return found, absent


def npm_licences() -> list[Licensed]:
    """The packages of package-lock.json, those for other platforms included."""
    return [Licensed(one.name, one.version, one.licence or UNKNOWN) for one in npm_lock()]


def spdx_expression(
    expression: str | None, licence: str | None, classifiers: Iterable[str], policy: Policy
) -> str:
    """What a Python package says of its licence, as an SPDX expression.

    Example:
        None, "MIT License", [] -> "MIT"
    """
    if expression:
        return expression
    written = (licence or "").strip()
    named = policy.spellings.get(written, written)
    if _is_expression(named):
        return named
    last_words = [one.rpartition(" :: ")[2] for one in classifiers if one.startswith(_CLASSIFIER)]
    translated = " AND ".join(policy.spellings.get(words, words) for words in last_words)
    if _is_expression(translated):
        return translated
    # Some packages have the whole text there: that is no name.
    return UNKNOWN if not written or "\n" in written else written


def is_allowed(expression: str, allowed: frozenset[str]) -> bool:
    """Whether a licence, or every one that must be kept to of several, is allowed.

    Example:
        "MIT OR GPL-3.0-only" -> True, "MIT AND GPL-3.0-only" -> False
    """
    try:
        parsed = _SPDX.parse(expression, validate=True)
    except ExpressionError:
        return False
    verdicts = {
        symbol: _SPDX.TRUE if set(symbol.render().split(" WITH ")) <= allowed else _SPDX.FALSE
        for symbol in parsed.literals
    }
    return bool(parsed.subs(verdicts).simplify() == _SPDX.TRUE)


def refusals(packages: Iterable[Licensed], policy: Policy) -> list[str]:
    """What is wrong with the licences of packages, a line each."""
    return [
        f"{one.name} {one.version}: its licence is {one.licence}, which policy.toml does not allow"
        for one in packages
        if not is_allowed(one.licence, policy.allowed) and not _is_exempt(one, policy)
    ]


def idle_exemptions(packages: Iterable[Licensed], policy: Policy) -> list[str]:
    """Exemptions that no package needs: the policy says no more than it must."""
    needed = {one.name for one in packages if not is_allowed(one.licence, policy.allowed)}
    return [f"{name}: needs no exemption any more" for name in policy.exemptions if name not in needed]


def main() -> int:
    """Print the licences by number, then what is wrong with any."""
    policy = load_policy()
    python, absent = python_licences(policy)
    packages = [*python, *npm_licences()]
    counts = Counter(one.licence for one in packages).most_common()
    print(f"licences of {len(python)} Python and {len(packages) - len(python)} npm packages:")
    print("  " + ", ".join(f"{licence} {count}" for licence, count in counts))
    for name, exemption in policy.exemptions.items():
        print(f"  {name}: {exemption.licence}; {exemption.why}")
    if absent:
        print(f"  not installed on this platform, so not read: {', '.join(absent)}")
    problems = refusals(packages, policy)
    problems += [line for line in idle_exemptions(packages, policy) if line.partition(":")[0] not in absent]
    for problem in problems:
        print(f"refused: {problem}")
    if problems:
        print("next: replace the package, or say in supply_chain/policy.toml why it may be used")
    return 1 if problems else 0


def _is_exempt(package: Licensed, policy: Policy) -> bool:
    """Whether the policy knows this package under this licence: another one is looked at anew."""
    exemption = policy.exemptions.get(package.name)
    return exemption is not None and package.licence in {UNKNOWN, exemption.licence}


def _is_expression(text: str) -> bool:
    try:
        return _SPDX.parse(text, validate=True) is not None
    except ExpressionError:
        return False


if __name__ == "__main__":
    sys.exit(main())
