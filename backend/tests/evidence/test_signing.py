"""Signing bundles with a key file."""

import shutil
from pathlib import Path

import pytest
from support.evidence_runs import packed, reseal
from support.keys import make_keys, rewrapped

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.evidence.files import BundleWriter
from tunix_rt.evidence.sign import sign_bundle
from tunix_rt.evidence.types import Check
from tunix_rt.evidence.verify import verify_evidence


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("signed")
    private, _ = make_keys(root, "owner")
    packed(root / "home", root / "bundle", private_key=private)
    return root


def signature_check(bundle: Path, public_key: Path | None = None) -> Check:
    verdict = verify_evidence(bundle, public_key=public_key)
    return next(check for check in verdict.checks if check.name == "signature")


def test_signer_key_verifies(signed: Path) -> None:
    assert signature_check(signed / "bundle", signed / "owner.pub").status == "passed"
    assert signature_check(signed / "bundle").detail.startswith(
        "by the key in the bundle, which anyone may have created"
    )


def test_other_key_does_not_verify(signed: Path, tmp_path: Path) -> None:
    _, stranger = make_keys(tmp_path, "stranger")

    assert signature_check(signed / "bundle", stranger).status == "failed"


def test_resealing_invalidates_signature(signed: Path, tmp_path: Path) -> None:
    bundle = Path(shutil.copytree(signed / "bundle", tmp_path / "bundle"))
    (bundle / "log.txt").write_text("nothing to see here\n")
    reseal(bundle)

    assert signature_check(bundle).status == "failed"
    assert signature_check(bundle, signed / "owner.pub").status == "failed"


def test_missing_required_signature_fails(tmp_path: Path, signed: Path) -> None:
    bundle = packed(tmp_path / "home", tmp_path / "bundle")

    assert signature_check(bundle).status == "skipped"
    assert signature_check(bundle, signed / "owner.pub").status == "failed"


def test_invalid_key_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("no key")

    with pytest.raises(InvalidInputError, match="cannot be used") as caught:
        packed(tmp_path / "home", tmp_path / "bundle", private_key=tmp_path / "key.pem")

    assert "openssl ecparam" in caught.value.next_step


def test_key_is_its_bytes_not_its_text(signed: Path, tmp_path: Path) -> None:
    (tmp_path / "owner.pub").write_bytes(rewrapped((signed / "owner.pub").read_bytes()))

    check = signature_check(signed / "bundle", tmp_path / "owner.pub")

    assert check.status == "passed", check.problems
    assert check.shows is not None
    assert check.shows.startswith("signed by the given key ")


def test_stripped_signature_is_visible(signed: Path, tmp_path: Path) -> None:
    bundle = Path(shutil.copytree(signed / "bundle", tmp_path / "bundle"))
    (bundle / "evidence.sig").unlink()
    (bundle / "evidence.pub").unlink()
    reseal(bundle)

    check = signature_check(bundle)

    assert check.problems[0].detail.startswith("the signature is missing: evidence.json names the key ")


def test_signature_of_another_key_is_visible(signed: Path, tmp_path: Path) -> None:
    bundle = Path(shutil.copytree(signed / "bundle", tmp_path / "bundle"))
    private, _ = make_keys(tmp_path, "stranger")
    sign_bundle(bundle, private)
    BundleWriter(bundle).write_sums()

    assert "evidence.json names the key" in signature_check(bundle).problems[0].detail
