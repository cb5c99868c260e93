"""Compiles the steps that the planner's component model is fitted to, and writes what the compiler said.

    python -m benchmarks.compile_steps [NAME ...]           steps for TPUs: needs tpu-plan, no accelerator
    python -m benchmarks.compile_steps --cards [NAME ...]   for cards that are not there: needs gpu-plan
    python -m benchmarks.compile_steps --gpu [NAME ...]     for an H200: needs the card

A step takes one to five CPU-minutes; figures that are already in the file are kept unless the step is named.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from tunix_rt.base.files.atomic import write_json_atomically
from tunix_rt.engines.planning.compile import CompileRequest, compile_in_child, topology_request
from tunix_rt.engines.planning.targets import GIB, LOCAL, Target, find_target
from tunix_rt.engines.weights.sources import resolve_model
from tunix_rt.recipes.load import validate_recipe
from tunix_rt.recipes.types import Recipe

RESULTS = Path(__file__).parent / "results" / "compiled_steps.json"

_BF16 = {"weights": "bfloat16", "optimizer_state": "bfloat16"}
_BF16_WEIGHTS = {"weights": "bfloat16"}
_NAIVE = {"remat": "none", "loss_chunk_tokens": None, "attention": "dense"}
_ONE_CHIP = {"data": 1, "fsdp": 1, "tensor": 1}
_GEMMA = "google/gemma-2b"
_GEMMA2 = "google/gemma-2-2b"
_GEMMA3 = "google/gemma-3-1b-pt"
_LLAMA = "meta-llama/Llama-3.2-1B"


def case(model: str, rows: int, row_length: int, *, sharding: Any = None, **training: Any) -> dict[str, Any]:
    """A recipe as plain values."""
    values = {
        "model": {"name": model, "weights": "random"},
        "data": {"row_length": row_length},
        "training": {"num_steps": 100, "batch_size": rows, **training},
    }
    return values | ({"sharding": sharding} if sharding else {})


def seed(**training: Any) -> dict[str, Any]:
    """The step of the seeds, with one thing after the other put right."""
    return case(_GEMMA, 1, 64, sharding=_ONE_CHIP, **{**_NAIVE, **training})


def lora(model: str, rows: int, row_length: int, **training: Any) -> dict[str, Any]:
    """Adapters on bfloat16 weights."""
    return case(model, rows, row_length, **{"mode": "lora", "precision": _BF16, **training})


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "the seeds' step: adamw bf16, one chip, nothing donated": (
        "v5e-8",
        seed(precision=_BF16, donate_buffers=False),
    ),
    "the same, donated": ("v5e-8", seed(precision=_BF16)),
    "the same, donated, adafactor": ("v5e-8", seed(precision=_BF16_WEIGHTS, optimizer="adafactor")),
    "gemma-2b adafactor f32 512 x 8": ("v5e-8", case(_GEMMA, 8, 512, optimizer="adafactor")),
    "gemma-2b lora 1024 x 4": ("v5e-1", lora(_GEMMA, 4, 1024)),
    "gemma-2b lora 1024 x 4, dense logits": ("v5e-1", lora(_GEMMA, 4, 1024, loss_chunk_tokens=None)),
    "gemma-3-1b adamw 2048 x 8": ("v5e-8", case(_GEMMA3, 8, 2048)),
    "gemma-3-1b lora 1024 x 4": ("v5e-1", lora(_GEMMA3, 4, 1024)),
    "gemma-2-2b adamw 2048 x 8": ("v5e-8", case(_GEMMA2, 8, 2048)),
    "gemma-2-2b lora 1024 x 4": ("v5e-1", lora(_GEMMA2, 4, 1024)),
    "gemma-2b adafactor bf16 512 x 8": (
        "v5e-8",
        case(_GEMMA, 8, 512, optimizer="adafactor", precision=_BF16_WEIGHTS),
    ),
    "gemma-2b adamw 2048 x 16": ("v5e-8", case(_GEMMA, 16, 2048)),
    "gemma-2b adamw 512 x 64 in 4 parts": (
        "v5e-8",
        case(_GEMMA, 64, 512, gradient_accumulation_steps=4),
    ),
    "smollm2-135m adamw 1024 x 8, no remat": (
        "v5e-1",
        case("HuggingFaceTB/SmolLM2-135M", 8, 1024, remat="none"),
    ),
}

_BF16_ROUNDED = {"weights": "bfloat16", "stochastic_rounding": True}
_DENSE = {"attention": "dense"}

GPU_CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "h200: gemma-2b adamw 1536 x 11": ("h200", case(_GEMMA, 11, 1536)),
    "h200: gemma-2b adamw 1536 x 11, dots": ("h200", case(_GEMMA, 11, 1536, remat="dots")),
    "h200: gemma-2b adamw 1536 x 4, no remat": ("h200", case(_GEMMA, 4, 1536, remat="none")),
    "h200: gemma-2b adamw 512 x 16": ("h200", case(_GEMMA, 16, 512)),
    "h200: gemma-2b adamw 512 x 64 in 4 parts": (
        "h200",
        case(_GEMMA, 64, 512, gradient_accumulation_steps=4),
    ),
    "h200: gemma-2b adafactor bf16 1536 x 11": (
        "h200",
        case(_GEMMA, 11, 1536, optimizer="adafactor", precision=_BF16_ROUNDED),
    ),
    "h200: gemma-2b adafactor bf16 512 x 4, dense attention": (
        "h200",
        case(_GEMMA, 4, 512, optimizer="adafactor", precision=_BF16_ROUNDED, **_DENSE),
    ),
    "h200: gemma-2b adamw 512 x 4, not donated, dense logits": (
        "h200",
        case(_GEMMA, 4, 512, donate_buffers=False, loss_chunk_tokens=None),
    ),
    "h200: gemma-2b lora 1024 x 4": ("h200", lora(_GEMMA, 4, 1024)),
    "h200: gemma-2b lora 1024 x 4, dense attention": ("h200", lora(_GEMMA, 4, 1024, **_DENSE)),
    "h200: gemma-2b lora 1024 x 16, dots": ("h200", lora(_GEMMA, 16, 1024, remat="dots")),
    "h200: gemma-2b lora 1024 x 4, no remat": ("h200", lora(_GEMMA, 4, 1024, remat="none")),
    "h200: gemma-2b qlora 1024 x 4": ("h200", lora(_GEMMA, 4, 1024, mode="qlora")),
    "h200: gemma-2b qlora 1024 x 4, dense attention": (
        "h200",
        lora(_GEMMA, 4, 1024, mode="qlora", **_DENSE),
    ),
    "h200: gemma-2-2b adamw 2048 x 8": ("h200", case(_GEMMA2, 8, 2048)),
    "h200: gemma-2-2b lora 1024 x 4": ("h200", lora(_GEMMA2, 4, 1024)),
    "h200: gemma-3-1b adamw 2048 x 8": ("h200", case(_GEMMA3, 8, 2048)),
    "h200: gemma-3-1b adamw 2048 x 4, dense attention": ("h200", case(_GEMMA3, 4, 2048, **_DENSE)),
    "h200: gemma-3-1b lora 1024 x 4": ("h200", lora(_GEMMA3, 4, 1024)),
    "h200: smollm2-135m adamw 1024 x 8": ("h200", case("HuggingFaceTB/SmolLM2-135M", 8, 1024)),
    "h200: llama-3.2-1b adamw 1024 x 8": ("h200", case(_LLAMA, 8, 1024)),
}


CARD_CASES: dict[str, tuple[str, dict[str, Any]]] = {
    f"{card}: {model.split('/')[1]} lora 1024 x 4": (card, lora(model, 4, 1024))
    for card in ("t4", "rtx4090", "rtx5090")
    for model in (_GEMMA, _GEMMA2, _GEMMA3)
}


def main(arguments: list[str]) -> None:
    """Compile what is missing or named."""
    all_cases = CASES | CARD_CASES | GPU_CASES
    names = [argument for argument in arguments if not argument.startswith("--")]
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    wanted = GPU_CASES if "--gpu" in arguments else CARD_CASES if "--cards" in arguments else CASES
    for name in names or [name for name in wanted if name not in known]:
        target_name, values = all_cases[name]
        known[name] = {"target": target_name, "recipe": values, "compiled": compiled(target_name, values)}
        ordered = {case_name: known[case_name] for case_name in all_cases if case_name in known}
        write_json_atomically(RESULTS, ordered)
        total = known[name]["compiled"]["total_bytes"] / GIB
        print(f"{name:50} {total:6.2f} GiB, {known[name]['compiled']['compile_seconds']:.0f} s", flush=True)


def compiled(target_name: str, values: dict[str, Any]) -> dict[str, Any]:
    """What the compiler says about one step."""
    request = compile_request(target_name, values)
    return compile_in_child(request, _target(target_name), lambda elapsed_s: None).model_dump(
        mode="json", exclude={"message"}, exclude_none=True
    )


def compile_request(target_name: str, values: dict[str, Any]) -> CompileRequest:
    """The question to the compiler."""
    target, recipe = _target(target_name), recipe_of(values)
    return CompileRequest(
        recipe=recipe,
        architecture_config=dict(resolve_model(recipe.model, needs_weights=False).config),
        platform=target.platform,
        num_devices=target.num_devices,
        topology=topology_request(target),
    )


def _target(name: str) -> Target:
    target = find_target(name)
    # The card itself, not its description: cuDNN needs it.
    return replace(target, name=LOCAL) if name == "h200" else target


def recipe_of(values: dict[str, Any]) -> Recipe:
    """The recipe of a case."""
    return validate_recipe(values)


if __name__ == "__main__":
    main(sys.argv[1:])
