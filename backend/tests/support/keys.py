"""Keys that sign bundles."""

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)


def make_keys(directory: Path, name: str) -> tuple[Path, Path]:
    """Write a private key and its public key.

    Example:
        make_keys(folder, "owner") -> folder/owner.pem, folder/owner.pub

    Args:
        directory: An existing directory.
        name: The name of both files, without their endings.

    Returns:
        The paths of the private and the public key, both in PEM.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    private, public = directory / f"{name}.pem", directory / f"{name}.pub"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return private, public


def rewrapped(public_key: bytes) -> bytes:
    """The same key with Windows line endings: a key is its bytes, not its text."""
    return public_key.replace(b"\n", b"\r\n")
