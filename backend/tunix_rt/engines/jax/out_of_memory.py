"""Recognise a device that has no memory left, among the errors of XLA."""

import jax

_SIGNS = ("RESOURCE_EXHAUSTED", "Out of memory", "out of memory")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether XLA says that the program, or an array, does not fit on the device."""
    is_of_xla = isinstance(error, jax.errors.JaxRuntimeError)
    return is_of_xla and any(sign in str(error) for sign in _SIGNS)
