"""What is written down when a loss or a gradient is no longer a finite number."""

from collections.abc import Sequence

import numpy as np

from tunix_rt.base.errors import DivergedError
from tunix_rt.engines.preparation import Prepared
from tunix_rt.engines.records import RunRecords

BATCH_FILE = "diverged_batch.json"
ARRAYS_FILE = "diverged_batch.npz"


class Diverged(Exception):
    """A step met a number that is not finite; its update was not applied."""

    def __init__(self, batch_index: int) -> None:
        super().__init__(batch_index)
        self.batch_index = batch_index


def write_diverged_batch(prepared: Prepared, index: int, records: RunRecords) -> None:
    """Keep the batch: which traces were in it, and the arrays as the step got them."""
    batch = prepared.batches.batch(index)
    trace_ids = prepared.trace_ids({example for row in batch.examples for example in row})
    records.write_arrays(
        ARRAYS_FILE,
        {
            "tokens": batch.tokens,
            "targets": batch.targets,
            "loss_mask": batch.loss_mask,
            "segment_ids": batch.segment_ids,
            "positions": batch.positions,
        },
    )
    records.write_json(
        BATCH_FILE,
        {
            "step": index + 1,
            "dataset": prepared.data.name,
            "split": prepared.data.train.split,
            "arrays": ARRAYS_FILE,
            "rows": [
                [{"example": example, "trace_id": trace_ids[example]} for example in row]
                for row in batch.examples
            ],
            "num_trained_tokens": int(np.count_nonzero(batch.loss_mask)),
        },
    )


def diverged_error(index: int, kept_steps: Sequence[int]) -> DivergedError:
    """The end of the run, and what to try."""
    kept = (
        f"The last good state is the checkpoint of step {kept_steps[-1]}"
        if kept_steps
        else "No step was good"
    )
    return DivergedError(
        f"The loss or a gradient of step {index + 1} is not a finite number. {kept}; "
        f"the batch is in {BATCH_FILE}.",
        next_step="Lower training.learning_rate, lengthen training.warmup_steps or set "
        "training.max_grad_norm, and look at the traces of the batch.",
    )
