"""Sign and check bundles with OpenSSF model signing and a key file.

The signature covers evidence.json, which contains the hash of every other file.
"""

import base64
import hashlib
import shutil
import tempfile
from pathlib import Path

from tunix_rt.base.errors import InvalidInputError, MissingExtraError
from tunix_rt.evidence.files import Bundle, read_whole
from tunix_rt.evidence.types import (
    EVIDENCE_FILE,
    PUBLIC_KEY_FILE,
    SIGNATURE_FILE,
    BundleProblem,
    Check,
    EvidenceManifest,
    check_of,
    skipped,
)

_MAX_KEY_BYTES = 1 << 16
_MAX_SIGNATURE_BYTES = 1 << 22
_MALFORMED = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""Errors of the signature parser for malformed input; found by changing every byte of a signature."""


def key_id(public_key: bytes) -> str:
    """SHA-256 of a public key in PEM, whatever its line breaks: the same as of its DER encoding."""
    lines = [line.strip() for line in public_key.splitlines()]
    body = b"".join(line for line in lines if line and not line.startswith(b"-----"))
    try:
        return hashlib.sha256(base64.b64decode(body, validate=True)).hexdigest()
    except ValueError:  # it cannot be a key: the signature check says so
        return hashlib.sha256(public_key).hexdigest()


def public_key_of(private_key: Path) -> bytes:
    """The public key in PEM.

    Raises:
        InvalidInputError: The key cannot be used.
        MissingExtraError: The extra `sign` is not installed.
    """
    _require_model_signing()
    from cryptography.hazmat.primitives import serialization

    try:
        key = serialization.load_pem_private_key(private_key.read_bytes(), password=None)
    except OSError as error:
        raise _unusable(private_key, str(error.strerror)) from error
    except (ValueError, TypeError) as error:
        raise _unusable(private_key, str(error)) from error
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def sign_bundle(directory: Path, private_key: Path) -> None:
    """Write the signature and the public key next to evidence.json.

    Raises:
        InvalidInputError: The key cannot be used.
        MissingExtraError: The extra `sign` is not installed.
    """
    public_key = public_key_of(private_key)
    from model_signing import signing

    with tempfile.TemporaryDirectory(prefix="tunix-rt-") as folder:
        shutil.copy(directory / EVIDENCE_FILE, folder)
        signer = signing.Config().use_elliptic_key_signer(private_key=private_key)
        signer.sign(Path(folder), directory / SIGNATURE_FILE)
    (directory / PUBLIC_KEY_FILE).write_bytes(public_key)


def check_signature(bundle: Bundle, manifest: EvidenceManifest, public_key: Path | None) -> Check:
    """Whether evidence.json was signed with the key, if it names one or one is given.

    Args:
        bundle: bundle whose list of files was already checked.
        manifest: its manifest.
        public_key: key of the expected signer. None: the key in the bundle.

    Raises:
        InvalidInputError: The key cannot be read.
        MissingExtraError: A key was given, but the extra `sign` is not installed.
    """
    is_signed = SIGNATURE_FILE in bundle.sizes
    if not is_signed or (public_key is None and PUBLIC_KEY_FILE not in bundle.sizes):
        return _unsigned(manifest, public_key)
    if public_key is None:
        key = read_whole(bundle, PUBLIC_KEY_FILE, max_bytes=_MAX_KEY_BYTES)
    else:
        try:
            key = public_key.read_bytes()
        except OSError as error:
            raise _unusable(public_key, str(error.strerror)) from error
    name = key_id(key)
    problem = None
    if manifest.signer not in (None, name):
        problem = f"evidence.json names the key {manifest.signer[:16]}…" if manifest.signer else None
    elif manifest.signer is None and manifest.evidence_version != "1":
        problem = "evidence.json names no signer"
    try:
        problem = _signature_problem(bundle, key) or problem
    except MissingExtraError as error:
        if public_key is not None:
            raise
        return skipped("signature", f"not checked: {error.detail} {error.next_step}")
    whose = "the given key" if public_key is not None else "the key in the bundle"
    caution = "" if public_key is not None else ", which anyone may have created"
    problems = [] if problem is None else [BundleProblem(detail=f"the signature is invalid: {problem}")]
    return check_of(
        "signature",
        f"by {whose}{caution} (SHA-256 {name[:16]}…)",
        problems,
        shows=f"signed by {whose} {name[:16]}…",
    )


def _unsigned(manifest: EvidenceManifest, public_key: Path | None) -> Check:
    if manifest.signer is not None:
        detail = f"the signature is missing: evidence.json names the key {manifest.signer[:16]}…"
    elif public_key is not None:
        detail = "the bundle is not signed"
    else:
        return skipped("signature", "the bundle is not signed")
    problem = BundleProblem(detail=detail, next_step="Request a signed bundle from its owner.")
    return check_of("signature", "", [problem])


def _signature_problem(bundle: Bundle, public_key: bytes) -> str | None:
    _require_model_signing()
    from cryptography.exceptions import InvalidSignature
    from model_signing import verifying

    with tempfile.TemporaryDirectory(prefix="tunix-rt-") as folder:
        signed, signature, key = Path(folder, "signed"), Path(folder, "signature"), Path(folder, "key.pem")
        signed.mkdir()
        manifest = read_whole(bundle, EVIDENCE_FILE, max_bytes=bundle.sizes[EVIDENCE_FILE])
        (signed / EVIDENCE_FILE).write_bytes(manifest)
        signature.write_bytes(read_whole(bundle, SIGNATURE_FILE, max_bytes=_MAX_SIGNATURE_BYTES))
        key.write_bytes(public_key)
        try:
            verifying.Config().use_elliptic_key_verifier(public_key=key).verify(signed, signature)
        except (InvalidSignature, *_MALFORMED) as error:
            return str(error) or type(error).__name__
    return None


def _unusable(key: Path, reason: str) -> InvalidInputError:
    return InvalidInputError(
        f"The key {key} cannot be used: {reason}.",
        next_step="Create a key: openssl ecparam -name prime256v1 -genkey -noout -out key.pem",
    )


def _require_model_signing() -> None:
    try:
        import model_signing  # noqa: F401 - only checks that it is installed
    except ImportError as error:
        raise MissingExtraError("Signing evidence", extra="sign") from error
