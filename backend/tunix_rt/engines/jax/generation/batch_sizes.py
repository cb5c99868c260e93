"""How many rows are written at a time when nobody says so."""

from tunix_rt.engines.jax.devices import DeviceChoice
from tunix_rt.engines.jax.generation.cache import bytes_per_row
from tunix_rt.engines.jax.generation.forward import Decoder

CPU_ROWS = 32
MAX_ROWS_PER_DEVICE = 512
_ROWS_OF_UNKNOWN_DEVICE = 64
# The rest is for hidden states and what the compiler keeps beside them.
_USABLE_FRACTION = 0.8
# A step holds logits, probabilities and noise of every row, float32 each.
_BYTES_PER_LOGIT = 4 * 3


def default_rows(choice: DeviceChoice, decoder: Decoder, weight_bytes: int, num_slots: int) -> int:
    """Rows of a batch over all devices: as many as the weights leave room for, a power of two a device."""
    num_devices = len(choice.devices)
    if choice.platform == "cpu":
        return max(CPU_ROWS, num_devices)
    if choice.memory_bytes is None:
        return _ROWS_OF_UNKNOWN_DEVICE * num_devices
    room = choice.memory_bytes * _USABLE_FRACTION - weight_bytes
    per_row = (
        bytes_per_row(decoder.architecture, num_slots, decoder.dtype)
        + _BYTES_PER_LOGIT * decoder.architecture.vocab_size
    )
    return min(MAX_ROWS_PER_DEVICE, power_of_two_below(int(room // per_row))) * num_devices


def power_of_two_below(number: int) -> int:
    """The largest power of two that is not above it; 1 for what is below 1."""
    return 1 << max(0, number.bit_length() - 1) if number > 0 else 1


def power_of_two_above(number: int) -> int:
    """The smallest power of two that is not below it."""
    return 1 << max(0, number - 1).bit_length()
