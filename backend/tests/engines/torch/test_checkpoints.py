"""Checkpoints of the torch engine: saving, verification and pruning."""

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


def make_record(step: int, best_step: int | None = None) -> CheckpointRecord:
    history = ValidationHistory(best_loss=1.0, best_step=best_step)
    return CheckpointRecord(step=step, identity=IDENTITY, validation=history, checksums={})


def make_state() -> dict[str, torch.Tensor]:
    """A state with every layout and dtype that occurs, and a scalar."""
    return {
        "weights.q": torch.arange(6.0).reshape(2, 3).T,
        "first_moments.q": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
        "num_updates": torch.tensor(3, dtype=torch.int64),
    }


def save_checkpoint(directory: Path, step: int = 3) -> Checkpoints:
    checkpoints = Checkpoints(directory, num_newest=2)
    checkpoints.save(make_state(), make_record(step))
    checkpoints.wait()
    return checkpoints


def test_round_trip_is_bit_equal(tmp_path: Path) -> None:
    restored = save_checkpoint(tmp_path).read(3, IDENTITY)
    assert restored.record.step == 3
    for name, tensor in make_state().items():
        assert restored.state[name].dtype == tensor.dtype
        assert torch.equal(restored.state[name], tensor)


def test_save_copies_state(tmp_path: Path) -> None:
    checkpoints, state = Checkpoints(tmp_path, num_newest=1), make_state()
    checkpoints.save(state, make_record(1))
    state["weights.q"].zero_()
    checkpoints.wait()
    assert torch.equal(checkpoints.read(1, IDENTITY).state["weights.q"], make_state()["weights.q"])


def test_newest_and_best_are_kept(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, num_newest=2)
    for step in (1, 2, 3, 4, 5):
        checkpoints.save(make_state(), make_record(step, best_step=2))
    checkpoints.wait()
    assert checkpoints.steps() == [2, 4, 5]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2", "4", "5"]


def test_leftovers_of_killed_process_are_removed(tmp_path: Path) -> None:
    save_checkpoint(tmp_path)
    for name in ("7.tmp-ab12", "1.dropped", "damaged", "notes.tmp-1"):
        (tmp_path / name).mkdir()
    assert Checkpoints(tmp_path, num_newest=2).steps() == [3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["3", "damaged", "notes.tmp-1"]


@pytest.mark.parametrize("offset", [20, -1], ids=["header", "numbers"])
def test_flipped_bit_is_detected(tmp_path: Path, offset: int) -> None:
    checkpoints = save_checkpoint(tmp_path)
    file = tmp_path / "3" / STATE_FILE
    content = bytearray(file.read_bytes())
    content[offset] ^= 1
    file.write_bytes(content)
    with pytest.raises(DamagedError):
        checkpoints.read(3, IDENTITY)


def test_checkpoint_of_other_recipe_is_rejected(tmp_path: Path) -> None:
    other = IDENTITY.model_copy(update={"recipe": {"training.seed": 1}})
    with pytest.raises(ConflictError, match=r"training.seed \(was 0, is 1\)"):
        save_checkpoint(tmp_path).read(3, other)
