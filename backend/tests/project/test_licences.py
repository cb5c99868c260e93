"""`make licences`: what is refused, by which name, and what is let through."""

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
    exemptions={"driver": Exemption("LGPL-3.0-only", "used as it is")},
    accepted_vulnerabilities={},
)


def test_every_dependency_has_a_licence_that_is_allowed(capsys: pytest.CaptureFixture[str]) -> None:
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
def test_an_expression_is_allowed_when_its_terms_can_all_be_kept(expression: str, allowed: bool) -> None:
    assert is_allowed(expression, POLICY.allowed) is allowed


@pytest.mark.parametrize(
    ("expression", "licence", "classifiers", "read_as"),
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
def test_the_licence_is_read_from_wherever_a_package_has_put_it(
    expression: str | None, licence: str | None, classifiers: list[str], read_as: str
) -> None:
    assert spdx_expression(expression, licence, classifiers, POLICY) == read_as


def test_a_licence_that_is_not_allowed_is_refused_with_the_name_of_the_package() -> None:
    packages = [Licensed("good", "1.0", "MIT"), Licensed("bad", "2.1", "AGPL-3.0-only")]
    assert refusals(packages, POLICY) == [
        "bad 2.1: its licence is AGPL-3.0-only, which policy.toml does not allow"
    ]


def test_an_exemption_ends_when_the_package_changes_its_licence() -> None:
    assert refusals([Licensed("driver", "1.0", "LGPL-3.0-only")], POLICY) == []
    (refusal,) = refusals([Licensed("driver", "2.0", "SSPL-1.0")], POLICY)
    assert refusal.startswith("driver 2.0: its licence is SSPL-1.0")


def test_an_exemption_that_nothing_needs_is_named() -> None:
    assert idle_exemptions([Licensed("driver", "3.0", "MIT")], POLICY) == [
        "driver: needs no exemption any more"
    ]


def test_an_npm_package_without_a_licence_is_refused() -> None:
    assert len(npm_licences()) > 100
    assert refusals([Licensed("left-pad", "1.0.0", UNKNOWN)], load_policy()) != []
