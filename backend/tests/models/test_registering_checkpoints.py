"""Registering checkpoints, which are exported in a child process."""

import pytest
from support.training import TrainingWorkspace, workspace_fixture

from tunix_rt.base.errors import NotFoundError
from tunix_rt.base.home import open_home
from tunix_rt.models.find import directory_of
from tunix_rt.models.register import register_run

workspace = workspace_fixture("torch")

SHORT = ("eval.every_steps=null", "eval.max_batches=null", "output.save_every_steps=1")


def test_checkpoint_is_registered_with_step(workspace: TrainingWorkspace) -> None:
    run, shorter_run = "home/runs/three", "home/runs/two"
    workspace.train(run, *SHORT, "training.num_steps=3")
    workspace.train(shorter_run, *SHORT, "training.num_steps=2")
    store = open_home(workspace.settings)
    final = register_run(store, "demo", "three").version
    assert register_run(store, "demo", "three", step=3).version == final
    version = register_run(store, "demo", "three", step=2).version
    assert (version.version, version.lineage.step, version.lineage.is_checkpoint) == (2, 2, True)
    weights = directory_of(workspace.settings, version) / "model.safetensors"
    assert weights.read_bytes() == workspace.weights(shorter_run)
    # Equal weights are one version, whichever process exported them.
    assert register_run(store, "demo", "two").version == version
    with pytest.raises(NotFoundError, match=r"no checkpoint of step 9.*: 2, 3"):
        register_run(store, "demo", "three", step=9)
    store.close()
