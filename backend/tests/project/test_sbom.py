"""The bills of materials: valid by the published schema, complete, and free of what a machine adds."""

from typing import Any

from supply_chain.sbom import missing, schema_errors, without_traces_of_this_machine


def bill(**changes: Any) -> dict[str, Any]:
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


def test_a_bill_that_follows_the_schema_is_valid() -> None:
    assert schema_errors(bill()) == []


def test_what_the_schema_does_not_know_is_found() -> None:
    (error,) = schema_errors(bill(components=[{"type": "nonsense", "name": "a"}]))
    assert "nonsense" in error


def test_a_package_that_is_not_listed_is_named() -> None:
    assert missing(bill(), [("torch", "2.13.0"), ("numpy", "2.4.6")]) == ["numpy 2.4.6"]


def test_an_npm_package_is_found_by_its_scope_and_name() -> None:
    scoped = {"name": "core", "group": "@babel", "version": "7.0.0", "purl": "pkg:npm/%40babel/core@7.0.0"}
    assert missing(bill(components=[scoped]), [("@babel/core", "7.0.0")]) == []


def test_the_time_random_numbers_and_paths_of_this_disk_are_left_out() -> None:
    made = bill(serialNumber="urn:uuid:0", metadata={"timestamp": "2026-01-01T00:00:00Z", "lifecycles": []})
    finished = without_traces_of_this_machine(made)
    assert "serialNumber" not in finished
    assert finished["metadata"] == {"lifecycles": []}
    assert [one["url"] for one in finished["components"][0]["externalReferences"]] == ["https://pytorch.org"]
    assert schema_errors(finished) == []
