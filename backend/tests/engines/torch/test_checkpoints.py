"""Checkpoints of the torch engine: complete, verified, and pruned."""

from pathlib import Path

import pytest
import torch

from tunix_rt.base.errors import ConflictError
from tunix_rt.engines.torch.training.checkpoints import STATE_FILE, Checkpoints
from tunix_rt.engines.training.checkpointing import CheckpointRecord, DamagedError, ValidationHistory
from tunix_rt.engines.training.preparation import RunIdentity

IDENTITY = RunIdentity(
    recipe={"training.seed": 0}, dataset="d", tokenizer="t", chat_template="c", base_model="b"
)


def record(step: int, best_step: int | None = None) -> CheckpointRecord:
    history = ValidationHistory(best_loss=1.0, best_step=best_step)
    return CheckpointRecord(step=step, identity=IDENTITY, validation=history, checksums={})


def a_state() -> dict[str, torch.Tensor]:
    """Every format that a state has, and a number without a shape."""
    return {
        "weights.q": torch.arange(6.0).reshape(2, 3).T,
        "first_moments.q": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
        "num_updates": torch.tensor(3, dtype=torch.int64),
    }


def saved(directory: Path, step: int = 3) -> Checkpoints:
    checkpoints = Checkpoints(directory, num_newest=2)
    checkpoints.save(a_state(), record(step))
    checkpoints.wait()
    return checkpoints


def test_what_is_read_is_what_was_saved_to_the_bit(tmp_path: Path) -> None:
    restored = saved(tmp_path).read(3, IDENTITY)
    assert restored.record.step == 3
    for name, tensor in a_state().items():
        assert restored.state[name].dtype == tensor.dtype
        assert torch.equal(restored.state[name], tensor)


def test_save_copies_the_state(tmp_path: Path) -> None:
    checkpoints, state = Checkpoints(tmp_path, num_newest=1), a_state()
    checkpoints.save(state, record(1))
    state["weights.q"].zero_()
    checkpoints.wait()
    assert torch.equal(checkpoints.read(1, IDENTITY).state["weights.q"], a_state()["weights.q"])


def test_the_newest_and_the_best_are_kept(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, num_newest=2)
    for step in (1, 2, 3, 4, 5):
        checkpoints.save(a_state(), record(step, best_step=2))
    checkpoints.wait()
    assert checkpoints.steps() == [2, 4, 5]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2", "4", "5"]


def test_leftovers_of_killed_process_are_removed(tmp_path: Path) -> None:
    saved(tmp_path)
    for name in ("7.tmp-ab12", "1.dropped", "damaged", "notes.tmp-1"):
        (tmp_path / name).mkdir()
    assert Checkpoints(tmp_path, num_newest=2).steps() == [3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["3", "damaged", "notes.tmp-1"]


@pytest.mark.parametrize("place", [20, -1], ids=["header", "numbers"])
def test_a_bit_that_has_changed_is_noticed(tmp_path: Path, place: int) -> None:
    checkpoints = saved(tmp_path)
    file = tmp_path / "3" / STATE_FILE
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    with pytest.raises(DamagedError):
        checkpoints.read(3, IDENTITY)


def test_a_checkpoint_of_another_training_is_refused_by_name(tmp_path: Path) -> None:
    other = IDENTITY.model_copy(update={"recipe": {"training.seed": 1}})
    with pytest.raises(ConflictError, match=r"training.seed \(was 0, is 1\)"):
        saved(tmp_path).read(3, other)
