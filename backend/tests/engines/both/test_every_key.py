"""Every recipe key has an effect: changing it changes the run, or is rejected.

The table of cases must cover the schema, so nobody can add a key that has no effect. Each case observes the
cheapest stage that shows the change: the batches, the text of the compiled step, or the operations of a few
steps. Only keys that affect the output files need a run. One table serves both engines.
"""

import functools
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from support.datasets import build, sums
from support.step_programs import jax_step, torch_steps
from support.training import TrainingWorkspace

from tunix_rt.base.assets import shipped_tokenizer_dir
from tunix_rt.base.errors import TunixRTError
from tunix_rt.engines.planning.limits import mesh_shape, require_torch_mesh
from tunix_rt.engines.training.checkpointing import ValidationHistory
from tunix_rt.engines.training.data import dataset_rows
from tunix_rt.engines.training.loop import is_stopped_early
from tunix_rt.engines.training.preparation import Prepared, prepare
from tunix_rt.recipes.keys import RecipeKey, leaf_keys
from tunix_rt.recipes.load import load_recipe
from tunix_rt.recipes.types import Recipe
from tunix_rt.tokenization.packing import Batches

SHORT = ("training.num_steps=4", "training.warmup_steps=0", "eval.every_steps=2", "output.save_every_steps=2")
UNVALIDATED = ("training.num_steps=2", "eval.every_steps=null", "eval.max_batches=null")
LORA = ("training.mode=lora", "lora.rank=4")
QLORA = ("training.mode=qlora", "lora.rank=4", "quantization.format=int8", "quantization.block_size=16")
ADAFACTOR = ("training.optimizer=adafactor",)
BFLOAT16 = ("training.precision.weights=bfloat16",)

Sets = tuple[str, ...]
Observe = Callable[[TrainingWorkspace, Sets], Any]


def recipe_of(workspace: TrainingWorkspace, sets: Sets) -> Recipe:
    return load_recipe(workspace.recipe, sets=sets).recipe


def prepared(workspace: TrainingWorkspace, sets: Sets) -> Prepared:
    recipe = recipe_of(workspace, sets)
    return prepare(recipe, dataset_rows(workspace.settings, recipe))


def preparation(workspace: TrainingWorkspace, sets: Sets) -> Any:
    """Everything before the device: the model, the batches, the number of steps."""
    ready = prepared(workspace, sets)
    return (
        ready.source.architecture,
        ready.num_steps,
        first_batch(ready.batches),
        first_batch(ready.validation),
        ready.num_validation_batches,
    )


def first_batch(batches: Batches | None) -> Any:
    if batches is None:
        return None
    batch = batches.batch(0)
    return batch.tokens.tolist(), batch.loss_mask.tolist(), batch.segment_ids.tolist()


@functools.cache
def step_program(workspace: TrainingWorkspace, sets: Sets) -> Any:
    """A description of the computation of a step."""
    return {"jax": jax_step, "torch": torch_steps}[workspace.engine](prepared(workspace, sets))


def mesh_of_eight(workspace: TrainingWorkspace, sets: Sets) -> Any:
    recipe = recipe_of(workspace, sets)
    shape = mesh_shape(recipe.sharding, 8)
    if workspace.engine == "torch":
        require_torch_mesh(recipe, shape)
    return shape


def stops_after_worse_validation(workspace: TrainingWorkspace, sets: Sets) -> Any:
    return is_stopped_early(prepared(workspace, sets), ValidationHistory().after(1.0, 2).after(2.0, 4))


@functools.cache
def finished_run(workspace: TrainingWorkspace, sets: Sets) -> Any:
    """The outputs of a short run."""
    output = f"run-{len(list(workspace.root.iterdir()))}"
    figures = workspace.train(output, *sets).figures
    assert figures is not None
    files = sorted(path.name for path in (workspace.root / output / "model").iterdir())
    return workspace.metrics(output), workspace.kept_steps(output), files, figures.exported_step


@dataclass(frozen=True)
class Case:
    """A recipe with `base`, and the same with `change` on top."""

    change: str
    observe: Observe
    base: Sets = ()
    is_rejected: bool = False
    """The change fails with an error."""


CASES: dict[str, Case] = {
    "model.name": Case("tiny-qwen3", preparation),
    "model.revision": Case("main", preparation, is_rejected=True),
    "model.weights": Case("pretrained", preparation, is_rejected=True),
    "model.tokenizer": Case("{root}/tokenizer", preparation),
    "data.dataset": Case("other-v1", preparation),
    "data.split": Case("validation", preparation),
    "data.row_length": Case("96", preparation),
    "data.packing": Case("false", preparation),
    "data.overlong": Case(
        "error", preparation, ("data.overlong=drop", "data.row_length=32"), is_rejected=True
    ),
    "data.markup": Case("think", preparation),
    "data.chat_template": Case("tunix-rt", preparation),
    "training.mode": Case("lora", step_program),
    "training.num_epochs": Case("2", preparation, ("training.num_steps=null", "training.num_epochs=1")),
    "training.num_steps": Case("5", preparation),
    "training.batch_size": Case("8", step_program),
    "training.gradient_accumulation_steps": Case("2", step_program),
    "training.learning_rate": Case("1e-3", step_program),
    "training.schedule": Case("linear", step_program),
    "training.warmup_steps": Case("3", step_program),
    "training.final_learning_rate_fraction": Case("0.5", step_program, ("training.schedule=linear",)),
    "training.optimizer.name": Case("adafactor", step_program),
    "training.optimizer.beta1": Case("0.8", step_program),
    "training.optimizer.beta2": Case("0.9", step_program),
    "training.optimizer.epsilon": Case("1e-4", step_program),
    "training.optimizer.weight_decay (adamw)": Case("0.1", step_program),
    "training.optimizer.decay_rate": Case("0.5", step_program, ADAFACTOR),
    "training.optimizer.clipping_threshold": Case("0.5", step_program, ADAFACTOR),
    "training.optimizer.weight_decay (adafactor)": Case("0.1", step_program, ADAFACTOR),
    "training.max_grad_norm": Case("0.5", step_program),
    "training.precision.compute": Case("bfloat16", step_program),
    "training.precision.weights": Case("bfloat16", step_program),
    "training.precision.optimizer_state": Case("bfloat16", step_program),
    "training.precision.stochastic_rounding": Case("true", step_program, BFLOAT16),
    "training.remat": Case("block", step_program),
    "training.loss_chunk_tokens": Case("16", step_program),
    "training.attention": Case("cudnn", step_program, is_rejected=True),
    "training.donate_buffers": Case("false", step_program),
    "training.seed": Case("7", preparation),
    "lora.rank": Case("2", step_program, LORA),
    "lora.alpha": Case("8.0", step_program, LORA),
    "lora.dropout": Case("0.1", step_program, LORA),
    "lora.targets": Case("[q, v]", step_program, LORA),
    "quantization.format": Case("nf4", step_program, QLORA),
    "quantization.block_size": Case("8", step_program, QLORA),
    "sharding.data": Case("2", mesh_of_eight),
    "sharding.fsdp": Case("4", mesh_of_eight),
    "sharding.tensor": Case("2", mesh_of_eight),
    "eval.every_steps": Case("4", finished_run, SHORT),
    "eval.split": Case("train", preparation),
    "eval.max_batches": Case("1", preparation),
    "eval.early_stop_patience": Case("1", stops_after_worse_validation),
    "output.log_every_steps": Case("2", finished_run, SHORT),
    "output.save_every_steps": Case("3", finished_run, SHORT),
    "output.keep_checkpoints": Case("1", finished_run, SHORT),
    # At this rate the second validation is worse than the first.
    "output.model": Case(
        "best", finished_run, (*SHORT, "training.learning_rate=1.0", "training.schedule=constant")
    ),
    "output.merge_adapters": Case("true", finished_run, (*UNVALIDATED, *LORA)),
}


REJECTED_BY_TORCH: dict[str, Observe] = {
    "training.donate_buffers": finished_run,
    "sharding.tensor": mesh_of_eight,
    # The smallest block size of bitsandbytes is too large for these models.
    "quantization.format": step_program,
}


def label(key: RecipeKey) -> str:
    """The path, with the optimizer where two optimizers share a key."""
    is_shared = sum(other.path == key.path for other in leaf_keys()) > 1
    return f"{key.path} ({key.only_with})" if is_shared else key.path


@pytest.fixture(scope="module")
def extended_workspace(workspace: TrainingWorkspace) -> TrainingWorkspace:
    """The workspace with a second dataset and a second tokenizer."""
    build(
        workspace.settings.home_dir,
        sums(40, first=500),
        dataset_name="other",
        splits={"train": 0.5, "validation": 0.5},
    )
    copy = workspace.root / "tokenizer"
    shutil.copytree(shipped_tokenizer_dir("tiny"), copy)
    (copy / "chat_template.jinja").write_text(
        "{{ messages[0]['content'] }} => {{ messages[1]['content'] if messages[1:] else '' }}"
    )
    return workspace


def test_every_key_has_case() -> None:
    assert sorted(CASES) == sorted(map(label, leaf_keys()))


@pytest.mark.parametrize("name", CASES)
def test_every_key_has_effect(name: str, extended_workspace: TrainingWorkspace) -> None:
    case, key = CASES[name], name.split()[0]
    others = tuple(text for text in case.base if not text.startswith(f"{key}="))
    changed = (*others, f"{key}={case.change.format(root=extended_workspace.root)}")
    if extended_workspace.engine == "torch" and key in REJECTED_BY_TORCH:
        with pytest.raises(TunixRTError, match=r"torch|bitsandbytes"):
            REJECTED_BY_TORCH[key](extended_workspace, changed)
        return
    baseline = case.observe(extended_workspace, case.base)
    if case.is_rejected:
        with pytest.raises(TunixRTError):
            case.observe(extended_workspace, changed)
    else:
        assert case.observe(extended_workspace, changed) != baseline
