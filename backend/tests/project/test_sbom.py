"""SBOMs are valid, complete and free of machine-specific data."""

from typing import Any

from supply_chain.sbom import missing, schema_errors, without_traces_of_this_machine


def make_bill(**changes: Any) -> dict[str, Any]:
    component = {
        "type": "library",
        "name": "Torch",
        "version": "2.13.0+cpu",
        "externalReferences": [
            {"type": "distribution", "url": "file:///home/someone/torch"},
            {"type": "website", "url": "https://pytorch.org"},
        ],
    }
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "components": [component], **changes}


def test_valid_bill_has_no_errors() -> None:
    assert schema_errors(make_bill()) == []


def test_schema_violation_is_found() -> None:
    (error,) = schema_errors(make_bill(components=[{"type": "nonsense", "name": "a"}]))
    assert "nonsense" in error


def test_missing_package_is_named() -> None:
    assert missing(make_bill(), [("torch", "2.13.0"), ("numpy", "2.4.6")]) == ["numpy 2.4.6"]


def test_scoped_npm_package_is_matched() -> None:
    scoped = {"name": "core", "group": "@babel", "version": "7.0.0", "purl": "pkg:npm/%40babel/core@7.0.0"}
    assert missing(make_bill(components=[scoped]), [("@babel/core", "7.0.0")]) == []


def test_machine_specific_data_is_removed() -> None:
    bill = make_bill(
        serialNumber="urn:uuid:0", metadata={"timestamp": "2026-01-01T00:00:00Z", "lifecycles": []}
    )
    cleaned = without_traces_of_this_machine(bill)
    assert "serialNumber" not in cleaned
    assert cleaned["metadata"] == {"lifecycles": []}
    assert [one["url"] for one in cleaned["components"][0]["externalReferences"]] == ["https://pytorch.org"]
    assert schema_errors(cleaned) == []
