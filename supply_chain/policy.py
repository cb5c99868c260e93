"""policy.toml, read: what a dependency must be like."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

POLICY = Path(__file__).with_name("policy.toml")


@dataclass(frozen=True)
class Exemption:
    """What is known of one package besides what it says of itself."""

    licence: str
    why: str


@dataclass(frozen=True)
class Policy:
    """Licences that are allowed, packages that are exempt, vulnerabilities that were looked at."""

    allowed: frozenset[str]
    spellings: dict[str, str]
    """What old packages write -> the SPDX identifier."""
    exemptions: dict[str, Exemption]
    accepted_vulnerabilities: dict[str, str]
    """Identifier -> why it does not concern us."""


def load_policy(path: Path = POLICY) -> Policy:
    """Read the policy."""
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    licences = values["licences"]
    return Policy(
        allowed=frozenset(licences["allowed"]),
        spellings=licences["spellings"],
        exemptions={name: Exemption(**entry) for name, entry in licences["packages"].items()},
        accepted_vulnerabilities=values["vulnerabilities"]["accepted"],
    )
