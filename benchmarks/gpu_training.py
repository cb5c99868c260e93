"""How many samples a second a GPU trains at Gemma-2B shape: the usual padded recipe against ours.

    python -m benchmarks.gpu_training [--json FILE] [--only NAME ...]

Needs one NVIDIA GPU with JAX, torch and transformers. Every case runs in a process of its own, one after the
other, on the same 550 samples: lengths spread as in dev-reasoning-v2, 61 tokens on average, 128 at most,
random tokens and random weights. A sample is the same sample in every case, however it is padded or packed.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tunix_rt.base.assets import shipped_traces
from tunix_rt.engines.planning.step import model_flops
from tunix_rt.engines.weights.sources import resolve_model
from tunix_rt.recipes.types import Recipe
from tunix_rt.tokenization.encoding import PARTS, EncodedExample
from tunix_rt.tokenization.packing import Batches, BatchSettings

MODEL = "google/gemma-2b"
NUM_SAMPLES = 550
MEAN_TOKENS = 61
MAX_TOKENS = 128
MEASURED_PEAK_FLOPS = 790e12
"""bf16 matrix products of random numbers on the H200 of these figures; its datasheet says 990e12."""


@dataclass(frozen=True)
class Case:
    """A recipe of the benchmark: rows, and the keys of its training section."""

    training: dict[str, Any]
    row_length: int = 1536
    """The 550 samples fill 22 rows of 1,536 or 45 of 768 almost wholly: no batch needs rows of padding."""

    def recipe(self) -> Recipe:
        """The whole recipe."""
        return Recipe.model_validate(
            {
                "model": {"name": MODEL, "weights": "random"},
                "data": {"row_length": self.row_length},
                "training": {"num_steps": 1000, "learning_rate": 2e-5} | self.training,
            }
        )


_BF16 = {"weights": "bfloat16"}
_ALL_BF16 = _BF16 | {"optimizer_state": "bfloat16", "stochastic_rounding": True}
_ADAFACTOR = {"optimizer": "adafactor", "precision": _BF16 | {"stochastic_rounding": True}}
_LORA = {"batch_size": 45, "loss_chunk_tokens": 512, "remat": "dots", "precision": _BF16}
CASES: dict[str, Case] = {
    "full-adamw": Case({"batch_size": 11, "loss_chunk_tokens": 2048, "remat": "dots"}),
    "full-adamw-block": Case({"batch_size": 11, "loss_chunk_tokens": 2048, "remat": "block"}),
    "full-adamw-none": Case({"batch_size": 11, "loss_chunk_tokens": 2048, "remat": "none"}),
    "full-adamw-bf16-block": Case(
        {"batch_size": 11, "loss_chunk_tokens": 2048, "remat": "block", "precision": _ALL_BF16}
    ),
    "full-adafactor": Case({"batch_size": 11, "loss_chunk_tokens": 1024, "remat": "dots"} | _ADAFACTOR),
    "full-adafactor-block": Case(
        {"batch_size": 11, "loss_chunk_tokens": 1024, "remat": "block"} | _ADAFACTOR
    ),
    "lora": Case({"mode": "lora", "gradient_accumulation_steps": 15} | _LORA, row_length=768),
    "lora-none": Case(
        {"mode": "lora", "gradient_accumulation_steps": 15} | _LORA | {"remat": "none"}, row_length=768
    ),
    # 17 rows of 1,984 leave 0.5 % empty, and one of them at a time needs less memory than 3 × 768 tokens.
    "lora-1984": Case(
        {"mode": "lora", "gradient_accumulation_steps": 17} | _LORA | {"batch_size": 17}, row_length=1984
    ),
    "lora-one-row": Case({"mode": "lora", "gradient_accumulation_steps": 22} | _LORA | {"batch_size": 22}),
    "qlora": Case({"mode": "qlora", "gradient_accumulation_steps": 15} | _LORA, row_length=768),
}


def sample_lengths() -> list[int]:
    """550 lengths in tokens, in the proportions of the shipped traces."""
    characters = np.array([len(line) for line in shipped_traces("dev-reasoning-v2")], dtype=float)
    low, high = 0.0, 1.0
    for _ in range(60):
        factor = (low + high) / 2
        lengths = np.clip(characters * factor, 8, MAX_TOKENS).astype(int)
        low, high = (factor, high) if lengths.mean() < MEAN_TOKENS else (low, factor)
    return [int(length) for length in lengths[:NUM_SAMPLES]]


def samples(vocab_size: int) -> list[EncodedExample]:
    """The samples: a third of each is prompt, the rest is trained."""
    random = np.random.default_rng(0)
    return [_sample(random.integers(1, vocab_size, length, dtype=np.int32)) for length in sample_lengths()]


def _sample(token_ids: Any) -> EncodedExample:
    is_trained = (np.arange(len(token_ids)) >= len(token_ids) // 3).astype(np.uint8)
    return EncodedExample(
        text="",
        token_ids=token_ids,
        loss_mask=is_trained,
        parts=np.where(is_trained, PARTS.index("answer"), PARTS.index("prompt")).astype(np.uint8),
        ends=np.zeros(len(token_ids), np.int32),
        problems=frozenset(),
    )


def run_ours(recipe: Recipe, *, num_epochs: int) -> dict[str, Any]:
    """Train with the JAX engine's own program; the first epoch is warm-up."""
    import jax

    from tunix_rt.engines.jax.program import build_program
    from tunix_rt.engines.jax.sharding import make_mesh

    architecture = resolve_model(recipe.model, needs_weights=False).architecture
    program = build_program(
        recipe, architecture, make_mesh(recipe.sharding, jax.devices()), num_steps=1000, platform="gpu"
    )
    examples = samples(architecture.vocab_size)
    settings = BatchSettings(recipe.data.row_length, recipe.training.batch_size)
    batches = Batches(examples, settings, pad_id=0)
    started = time.perf_counter()
    step = program.train_step.lower(  # type: ignore[attr-defined]
        program.abstract_state, program.abstract_frozen, program.abstract_batch
    ).compile()
    compile_seconds = time.perf_counter() - started
    state, frozen = program.init_state(program.random_params())
    epoch_seconds, losses = [], []
    for epoch in range(num_epochs + 1):
        started = time.perf_counter()
        for index in range(batches.num_batches_per_epoch):
            batch = program.put_batch(batches.batch(epoch * batches.num_batches_per_epoch + index))
            state, metrics = step(state, frozen, batch)
        losses.append(float(metrics.loss))  # waits for the epoch, not for each step
        epoch_seconds.append(time.perf_counter() - started)
    return figures(
        seconds=statistics.median(epoch_seconds[1:]),
        num_samples=len(examples),
        num_tokens=sum(map(len, examples)),
        flops=model_flops(
            architecture,
            recipe,
            num_tokens=sum(map(len, examples)),
            num_trained_tokens=batches.num_trained_tokens_per_epoch,
        ),
        num_parameters=architecture.num_parameters,
        details={
            "attention": program.attention.kernel,
            "fill_ratio": round(batches.fill_ratio, 4),
            "steps_per_epoch": batches.num_batches_per_epoch,
            "compile_seconds": round(compile_seconds, 1),
            "compiled_gib": _compiled_gib(step.memory_analysis()),
            "peak_gib": round(jax.devices()[0].memory_stats()["peak_bytes_in_use"] / 2**30, 2),
            "losses": [round(loss, 4) for loss in losses],
        },
    )


def _compiled_gib(memory: Any) -> float:
    num_bytes = memory.argument_size_in_bytes + memory.output_size_in_bytes - memory.alias_size_in_bytes
    return round((num_bytes + memory.temp_size_in_bytes) / 2**30, 2)


def run_usual(*, num_steps: int) -> dict[str, Any]:
    """What many people start from: HF Trainer, batch 1 padded to 128, accumulation 4, Adafactor."""
    import tempfile

    import torch
    from transformers import AutoModelForCausalLM, GemmaConfig, Trainer, TrainingArguments

    config = GemmaConfig(**resolve_model(CASES["full-adamw"].recipe().model, needs_weights=False).config)
    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    examples = samples(config.vocab_size)
    num_samples = 4 * num_steps
    chosen = [examples[i % len(examples)] for i in range(num_samples)]
    with tempfile.TemporaryDirectory() as directory:
        arguments = TrainingArguments(
            output_dir=directory,
            per_device_train_batch_size=1,
            gradient_accumulation_steps=4,
            optim="adafactor",
            learning_rate=2e-5,
            bf16=True,
            max_steps=num_steps,
            logging_steps=10,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )
        trainer = Trainer(model=model, args=arguments, train_dataset=[padded(one) for one in chosen])
        trainer.train()  # warm-up: kernels, allocator
        started = time.perf_counter()
        trainer.train()
        torch.cuda.synchronize()
        seconds = time.perf_counter() - started
    num_parameters = sum(parameter.numel() for parameter in model.parameters())
    return figures(
        seconds=seconds,
        num_samples=num_samples,
        num_tokens=sum(map(len, chosen)),
        flops=6 * num_parameters * sum(map(len, chosen)),
        num_parameters=num_parameters,
        details={"peak_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2)},
    )


def padded(example: EncodedExample) -> dict[str, Any]:
    """A row of 128 tokens as HF Trainer takes it; the loss covers the prompt too."""
    padding = MAX_TOKENS - len(example)
    return {
        "input_ids": [*example.token_ids.tolist(), *[0] * padding],
        "attention_mask": [1] * len(example) + [0] * padding,
        "labels": [*example.token_ids.tolist(), *[-100] * padding],
    }


def figures(
    *,
    seconds: float,
    num_samples: int,
    num_tokens: int,
    flops: float,
    num_parameters: int,
    details: dict[str, Any],
) -> dict[str, Any]:
    """Padding counts for nothing: tokens are the samples' own."""
    return {
        "samples_per_s": round(num_samples / seconds, 1),
        "tokens_per_s": round(num_tokens / seconds),
        "share_of_measured_peak": round(flops / seconds / MEASURED_PEAK_FLOPS, 3),
        "share_if_all_weights_trained": round(
            6 * num_parameters * num_tokens / seconds / MEASURED_PEAK_FLOPS, 3
        ),
        **details,
    }


def _in_its_own_process(name: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.gpu_training", "--case", name]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    lines = [line for line in finished.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return {"failed": finished.stderr.strip().splitlines()[-1:]}
    figures: dict[str, Any] = json.loads(lines[-1])
    return figures


def main() -> None:
    """Run all cases, or one of them in this process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=["usual", *CASES])
    parser.add_argument("--only", nargs="*", default=["usual", *CASES])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.case == "usual":
        print(json.dumps(run_usual(num_steps=30)))
    elif arguments.case:
        print(json.dumps(run_ours(CASES[arguments.case].recipe(), num_epochs=4)))
    else:
        _run_all(arguments.only, arguments.json)


def _run_all(names: list[str], path: Path | None) -> None:
    results = {}
    for name in names:
        results[name] = _in_its_own_process(name)
        print(f"{name:22} {json.dumps(results[name])}", flush=True)
        if path:
            path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
