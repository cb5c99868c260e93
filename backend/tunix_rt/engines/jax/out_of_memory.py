"""Recognise a device that has no memory left, among the errors of XLA."""

import jax

# XLA's library for CPUs does not say why it failed: a program that was compiled can lack nothing but memory.
_OF_A_CPU = "YNNPACK operation failed"
_SIGNS = ("RESOURCE_EXHAUSTED", "Out of memory", "out of memory", _OF_A_CPU)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether XLA says that the program, or an array, does not fit on the device."""
    is_of_xla = isinstance(error, jax.errors.JaxRuntimeError)
    return is_of_xla and any(sign in str(error) for sign in _SIGNS)
