"""Exports of the torch engine have the same logits in transformers, PEFT and the JAX engine."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from peft import PeftModel
from safetensors.torch import load_file
from support.parity import save_tiny_model
from support.rows import logits
from support.training import TrainingWorkspace, make_workspace
from transformers import AutoModelForCausalLM, AutoTokenizer

from tunix_rt.base.assets import shipped_tokenizer_dir
from tunix_rt.engines.jax.model.decoder import ForwardOptions, Inputs
from tunix_rt.engines.jax.model.lora import adapter_scale
from tunix_rt.engines.jax.weights import load_adapters, load_params
from tunix_rt.engines.weights.architecture import architecture_from_config

TOKENS = np.array([[5, 17, 300, 42, 7, 999, 3]], np.int32)
SHORT = ("training.num_steps=2", "eval.every_steps=null", "eval.max_batches=null")
LORA = ("training.mode=lora", "lora.rank=4", "lora.targets=[q, v, o, down]")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> TrainingWorkspace:
    root = tmp_path_factory.mktemp("workspace")
    workspace = make_workspace(root, "torch")
    for name in ("tiny-gemma", "tiny-qwen3"):
        write_base(name, root / name)
    return workspace


def write_base(name: str, directory: Path) -> None:
    shutil.copytree(shipped_tokenizer_dir("tiny"), directory)
    save_tiny_model(name, directory)


def base_model_sets(workspace: TrainingWorkspace, name: str) -> tuple[str, ...]:
    return f"model.name={workspace.root / name}", "model.weights=pretrained"


def jax_logits(directory: Path, adapter: Path | None = None) -> NDArray[np.float32]:
    architecture = architecture_from_config(json.loads((directory / "config.json").read_text()))
    params = load_params(directory, architecture, "float32")
    adapters, scale = None, 1.0
    if adapter is not None:
        adapters, lora = load_adapters(adapter, architecture)
        scale = adapter_scale(lora)
    inputs = Inputs(TOKENS, np.ones_like(TOKENS), np.arange(TOKENS.shape[1], dtype=np.int32)[None])
    options = ForwardOptions("float32", adapter_scale=scale)
    return np.asarray(logits(params, adapters, architecture, inputs, options))[0]


def torch_logits(model: Any) -> NDArray[np.float32]:
    with torch.no_grad():
        return np.asarray(model.eval()(torch.from_numpy(TOKENS.astype(np.int64))).logits[0].float())


def assert_close(left: NDArray[np.float32], right: NDArray[np.float32]) -> None:
    np.testing.assert_allclose(left, right, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ["tiny-gemma", "tiny-qwen3"])
def test_full_export_matches_transformers_and_jax(workspace: TrainingWorkspace, name: str) -> None:
    output = f"full-{name}"
    workspace.train(output, *SHORT, *base_model_sets(workspace, name))
    exported = workspace.root / output / "model"
    model, report = AutoModelForCausalLM.from_pretrained(exported, output_loading_info=True)
    assert not any(report.values()), report
    assert model.dtype == torch.float32
    expected = torch_logits(model)
    assert_close(jax_logits(exported), expected)
    assert np.abs(expected - jax_logits(workspace.root / name)).max() > 1e-2, "nothing was trained"
    ids = AutoTokenizer.from_pretrained(exported)("17 + 25", add_special_tokens=False)["input_ids"]
    assert len(ids) > 1


def test_adapter_export_matches_peft_and_jax(workspace: TrainingWorkspace) -> None:
    sets = (*SHORT, *LORA, *base_model_sets(workspace, "tiny-qwen3"))
    workspace.train("adapter", *sets)
    workspace.train("merged", *sets, "output.merge_adapters=true")
    adapter, merged = workspace.root / "adapter" / "model", workspace.root / "merged" / "model"
    base = workspace.root / "tiny-qwen3"
    adapted = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), adapter)
    expected = torch_logits(adapted)
    assert_close(jax_logits(base, adapter), expected)
    assert_close(jax_logits(merged), expected)
    assert_close(torch_logits(AutoModelForCausalLM.from_pretrained(merged)), expected)
    assert np.abs(expected - jax_logits(base)).max() > 1e-3, "nothing was trained"


def test_merged_model_keeps_quantized_weights(workspace: TrainingWorkspace) -> None:
    block_size = 16
    quantised = ("quantization.format=int8", f"quantization.block_size={block_size}")
    mode = ("training.mode=qlora", "lora.targets=[q]", "output.merge_adapters=true")
    workspace.train("merged-int8", *SHORT, *mode, *quantised, *base_model_sets(workspace, "tiny-qwen3"))
    name = "model.layers.0.mlp.gate_proj.weight"
    merged, base = (
        load_file(directory / "model.safetensors")[name]
        for directory in (workspace.root / "merged-int8" / "model", workspace.root / "tiny-qwen3")
    )
    assert not torch.equal(merged, base)
    blocks = merged.unflatten(1, (-1, block_size))
    codes = blocks / (blocks.abs().amax(dim=-1, keepdim=True) / 127)
    torch.testing.assert_close(codes, codes.round(), atol=1e-3, rtol=0)


def test_bfloat16_export_keeps_dtype(workspace: TrainingWorkspace) -> None:
    workspace.train("bfloat16", *SHORT, "training.precision.weights=bfloat16")
    exported = workspace.root / "bfloat16" / "model"
    assert AutoModelForCausalLM.from_pretrained(exported, dtype="auto").dtype == torch.bfloat16
    assert json.loads((exported / "config.json").read_text())["dtype"] == "bfloat16"
