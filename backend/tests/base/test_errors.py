"""The error tree."""

import pickle

import pytest

from tunix_rt.base.errors import DataError, MissingExtraError, TunixRTError


@pytest.mark.parametrize(
    "error", [DataError("Row 3 is empty.", next_step="Fill it."), MissingExtraError("It", extra="ray")]
)
def test_errors_survive_pickling(error: TunixRTError) -> None:
    received = pickle.loads(pickle.dumps(error))
    assert type(received) is type(error)
    assert (received.detail, received.next_step, received.args) == (error.detail, error.next_step, error.args)
