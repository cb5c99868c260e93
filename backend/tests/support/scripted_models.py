"""A real model that always generates the same text.

The embedding of the i-th token of the text is the i-th unit vector, the only layer adds nothing, and the head
puts all weight on token i + 1. Greedy and sampled completions are therefore the same.
"""

import json
import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from support.run_dirs import finished_run
from tunix_rt.base.assets import shipped_tokenizer_dir
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.tokenization.tokenizer import load_tokenizer

TEXT = "<reasoning>six sévens</reasoning><answer>42</answer>"
_WIDTH = 64
_CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 1024,
    "hidden_size": _WIDTH,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "max_position_embeddings": 16_384,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
}


def write_scripted_model(directory: Path, text: str = TEXT, *, is_endless: bool = False) -> Path:
    """Write the model in the Hugging Face layout, with the tiny tokenizer.

    No token may occur twice in the text. With `is_endless` the text repeats instead of ending the turn.
    """
    tokenizer = load_tokenizer("tiny")
    # A prompt ends with a line break, and a turn with <end_of_turn>.
    [encoding] = tokenizer.encode_batch([f"\n{text}<end_of_turn>"])
    assert len(set(encoding.ids)) == len(encoding.ids) < _WIDTH, encoding.tokens
    directory.mkdir(parents=True, exist_ok=True)
    chain = [*encoding.ids[:-1], encoding.ids[1]] if is_endless else encoding.ids
    save_file(_tensors(chain), directory / "model.safetensors")
    (directory / "config.json").write_text(json.dumps(_CONFIG), encoding="utf-8")
    shutil.copytree(shipped_tokenizer_dir("tiny"), directory, dirs_exist_ok=True)
    return directory


def scripted_run(runs_dir: Path, run_id: str, text: str = TEXT, *, is_endless: bool = False) -> RunDir:
    """Write a finished run with this model."""
    run_dir = finished_run(runs_dir / run_id, markup="reasoning")
    write_scripted_model(run_dir.model, text, is_endless=is_endless)
    manifest = json.loads(run_dir.manifest.read_bytes())
    run_dir.manifest.unlink()
    run_dir.manifest.write_text(json.dumps(manifest | {"files": run_dir.file_hashes()}), encoding="utf-8")
    return run_dir


def _tensors(token_ids: list[int]) -> dict[str, "np.ndarray[tuple[int, ...], np.dtype[np.float32]]"]:
    embedding = np.zeros((_CONFIG["vocab_size"], _WIDTH), np.float32)
    head = np.zeros_like(embedding)
    for place, token_id in enumerate(token_ids[:-1]):
        embedding[token_id, place] = 1.0
    for place, token_id in enumerate(token_ids[1:]):
        head[token_id, place] = 10.0
    layer = "model.layers.0."
    shapes = {
        "self_attn.q_proj": (64, _WIDTH),
        "self_attn.k_proj": (32, _WIDTH),
        "self_attn.v_proj": (32, _WIDTH),
        "self_attn.o_proj": (_WIDTH, 64),
        "mlp.gate_proj": (32, _WIDTH),
        "mlp.up_proj": (32, _WIDTH),
        "mlp.down_proj": (_WIDTH, 32),
    }
    tensors = {f"{layer}{name}.weight": np.zeros(shape, np.float32) for name, shape in shapes.items()}
    norms = (f"{layer}input_layernorm", f"{layer}post_attention_layernorm", "model.norm")
    tensors |= {f"{name}.weight": np.ones(_WIDTH, np.float32) for name in norms}
    return tensors | {"model.embed_tokens.weight": embedding, "lm_head.weight": head}
