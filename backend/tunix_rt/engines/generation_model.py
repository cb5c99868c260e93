"""What an engine must offer for texts to be written with it."""

from typing import Protocol

from tunix_rt.core.evaluation.protocol import Decoding
from tunix_rt.engines.generation_batch import STEPS_PER_LOOK, Batch


class WritingModel(Protocol):
    """A model on its devices, as an engine holds it."""

    @property
    def num_devices(self) -> int:
        """Each of them has a copy of the weights, and its part of every batch."""

    def default_rows(self, num_slots: int) -> int:
        """Rows of a batch over all devices when nobody says how many."""

    def batch(
        self, decoding: Decoding, *, num_rows: int, num_slots: int, steps_per_look: int = STEPS_PER_LOOK
    ) -> Batch:
        """An empty batch, with room for `num_slots` tokens a row."""

    def batches(self, decoding: Decoding, *, num_rows: int, num_slots: int) -> list[Batch]:
        """The same rows as one batch, or as several that are faster side by side."""

    def is_out_of_memory(self, error: RuntimeError) -> bool:
        """Whether the error says that a device has no memory left."""


def whole_rows(model: WritingModel, num_rows: int) -> int:
    """So many rows, or a few more: the same number on every device."""
    return -(-num_rows // model.num_devices) * model.num_devices
