"""Checkpoints of the JAX engine: expired ones are removed completely."""

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from tunix_rt.engines.jax.training import checkpoints as checkpoints_module
from tunix_rt.engines.jax.training.checkpoints import Checkpoints, checksums
from tunix_rt.engines.jax.training.state import TrainState
from tunix_rt.engines.training.checkpointing import CheckpointRecord, ValidationHistory
from tunix_rt.engines.training.preparation import RunIdentity

IDENTITY = RunIdentity(
    recipe={"training.seed": 0}, dataset="d", tokenizer="t", chat_template="c", base_model="b"
)


def make_state(step: int) -> TrainState:
    weights = {"embedding": jnp.arange(6.0).reshape(2, 3) + step}
    key = jax.random.key_data(jax.random.key(0))
    return TrainState(jnp.int32(step), weights, {"mu": weights}, key, jnp.int32(-1))


def open_checkpoints(directory: Path) -> Checkpoints:
    abstract = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding), make_state(0)
    )
    return Checkpoints(directory, abstract, num_newest=1)


def save(checkpoints: Checkpoints, *steps: int) -> None:
    for step in steps:
        state, history = make_state(step), ValidationHistory(best_loss=1.0, best_step=None)
        record = CheckpointRecord(
            step=step, identity=IDENTITY, validation=history, checksums=checksums(state)
        )
        checkpoints.save(state, record)
    checkpoints.wait()


def relative_files(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}


def test_expired_checkpoint_is_removed_atomically(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints = open_checkpoints(tmp_path)
    save(checkpoints, 1)
    files = relative_files(tmp_path / "1")
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints_module.shutil, "rmtree", lambda *_, **__: None)
        save(checkpoints, 2)
        assert not (tmp_path / "1").exists()
        # A concurrent copy, or a crash at this point, never sees a partial checkpoint under its own name.
        assert len(relative_files(tmp_path / "dropped" / "1")) == len(files)
    checkpoints.wait()
    assert {path.name for path in tmp_path.iterdir()} == {"2"}
    checkpoints.close()


def test_leftover_checkpoints_are_removed(tmp_path: Path) -> None:
    (tmp_path / "dropped" / "1").mkdir(parents=True)
    checkpoints = open_checkpoints(tmp_path)
    save(checkpoints, 2)
    assert {path.name for path in tmp_path.iterdir()} == {"2"}
    assert checkpoints.read(2, IDENTITY).record.step == 2
    checkpoints.close()
