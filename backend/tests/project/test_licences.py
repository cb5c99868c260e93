"""`make licences`: which licences are refused, under which name, and which are allowed."""

import pytest
from supply_chain.licences import (
    UNKNOWN,
    Licensed,
    idle_exemptions,
    is_allowed,
    main,
    npm_licences,
    refusals,
    spdx_expression,
)
from supply_chain.policy import Exemption, Policy, load_policy

POLICY = Policy(
    allowed=frozenset({"MIT", "Apache-2.0", "LLVM-exception"}),
    spellings={"MIT License": "MIT", "Apache Software License": "Apache-2.0"},
    exemptions={"driver": Exemption("LGPL-3.0-only", "used unchanged")},
    accepted_vulnerabilities={},
)


def test_every_dependency_licence_is_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0, capsys.readouterr().out
    assert "psycopg: LGPL-3.0-only; used unchanged" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT AND Apache-2.0) OR AGPL-3.0-only", True),
        ("Apache-2.0 WITH LLVM-exception AND MIT", True),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("Free as in beer", False),
        (UNKNOWN, False),
    ],
)
def test_licence_expression_is_evaluated(expression: str, allowed: bool) -> None:
    assert is_allowed(expression, POLICY.allowed) is allowed


@pytest.mark.parametrize(
    ("expression", "licence", "classifiers", "expected"),
    [
        ("MIT", "GPL", ["License :: OSI Approved :: BSD License"], "MIT"),
        (None, "MIT License", [], "MIT"),
        (None, "Copyright (c) 2020\nAll rights", ["License :: OSI Approved :: MIT License"], "MIT"),
        (
            None,
            "UNKNOWN",
            ["License :: OSI Approved :: MIT License", "License :: OSI Approved :: Apache Software License"],
            "MIT AND Apache-2.0",
        ),
        (None, "Terms of a Service", [], "Terms of a Service"),
        (None, None, ["Topic :: Software Development"], UNKNOWN),
    ],
)
def test_licence_is_read_from_metadata(
    expression: str | None, licence: str | None, classifiers: list[str], expected: str
) -> None:
    assert spdx_expression(expression, licence, classifiers, POLICY) == expected


def test_forbidden_licence_names_the_package() -> None:
    packages = [Licensed("good", "1.0", "MIT"), Licensed("bad", "2.1", "AGPL-3.0-only")]
    assert refusals(packages, POLICY) == [
        "bad 2.1: its licence is AGPL-3.0-only, which policy.toml does not allow"
    ]


def test_exemption_covers_only_its_licence() -> None:
    assert refusals([Licensed("driver", "1.0", "LGPL-3.0-only")], POLICY) == []
    (refusal,) = refusals([Licensed("driver", "2.0", "SSPL-1.0")], POLICY)
    assert refusal.startswith("driver 2.0: its licence is SSPL-1.0")


def test_unused_exemption_is_reported() -> None:
    assert idle_exemptions([Licensed("driver", "3.0", "MIT")], POLICY) == [
        "driver: needs no exemption any more"
    ]


def test_unknown_npm_licence_is_refused() -> None:
    assert len(npm_licences()) > 100
    assert refusals([Licensed("left-pad", "1.0.0", UNKNOWN)], load_policy()) != []
