"""How many rows are written at a time when nobody says so."""

from dataclasses import dataclass

from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.generation_tasks import power_of_two_below

CPU_ROWS = 32
MAX_ROWS_PER_DEVICE = 512
_ROWS_OF_UNKNOWN_DEVICE = 64
# The rest is for hidden states and what the library keeps beside them.
_USABLE_FRACTION = 0.8
# A step holds logits, probabilities and noise of every row, float32 each.
_BYTES_PER_LOGIT = 4 * 3


@dataclass(frozen=True)
class Room:
    """The devices of a loaded model."""

    platform: str
    num_devices: int
    memory_bytes: int | None
    """What one device offers; None when it does not tell."""
    weight_bytes: int
    """What the model takes of it."""


def default_rows(room: Room, architecture: Architecture, *, num_slots: int, bytes_per_number: int) -> int:
    """Rows of a batch over all devices: as many as the weights leave room for, a power of two a device."""
    if room.platform == "cpu":
        return max(CPU_ROWS, room.num_devices)
    if room.memory_bytes is None:
        return _ROWS_OF_UNKNOWN_DEVICE * room.num_devices
    free_bytes = room.memory_bytes * _USABLE_FRACTION - room.weight_bytes
    bytes_per_row = (
        cache_numbers_per_row(architecture, num_slots) * bytes_per_number
        + _BYTES_PER_LOGIT * architecture.vocab_size
    )
    return min(MAX_ROWS_PER_DEVICE, power_of_two_below(int(free_bytes // bytes_per_row))) * room.num_devices


def cache_numbers_per_row(architecture: Architecture, num_slots: int) -> int:
    """Keys and values that one row takes in the cache, all layers together."""
    return 2 * architecture.num_layers * architecture.num_kv_heads * num_slots * architecture.head_dim
