"""Joining a multi-process run: invalid requests are rejected before JAX starts."""

import socket

import pytest

from tunix_rt.base.errors import DeviceError, InvalidInputError
from tunix_rt.engines.jax.devices import initialize


def test_invalid_process_id_is_rejected() -> None:
    with pytest.raises(InvalidInputError, match="Process 2 does not exist in a run of 2"):
        initialize("127.0.0.1:8476", 2, 2)


def test_coordinator_without_port_is_rejected() -> None:
    with pytest.raises(InvalidInputError, match="'localhost' is not an address"):
        initialize("localhost", 2, 0)


def test_unreachable_coordinator_is_named() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # Bound but not listening: connections are refused.
        port = bound.getsockname()[1]
        with pytest.raises(DeviceError, match=f"127.0.0.1:{port} within 0 s"):
            initialize(f"127.0.0.1:{port}", 2, 1, timeout_s=0)
