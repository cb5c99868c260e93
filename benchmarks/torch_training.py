"""How many samples a second torch trains at Gemma-2B shape: what people start from, TRL, and our engine.

    python -m benchmarks.torch_training [--only NAME ...] [--json FILE] [--site FOLDER] [--limit-gib GIB]
                                        [--set KEY=VALUE ...]
    python -m benchmarks.torch_training --tiny          a model of the demo on the CPU, to try it out

Needs one NVIDIA GPU with torch and transformers. The 550 samples and the accounting are those of
benchmarks/gpu_training.py. TRL and Liger need not be installed: `--site` names a folder that holds them
(pip install --target FOLDER trl liger-kernel datasets). Cases that need something that is missing say so.
`--limit-gib` shows what fits: torch may hold no more, as on a smaller card. `--set` changes the recipe of our
cases: `--set data.row_length=2112 --set training.batch_size=16`.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.engine_steps import Device, open_step
from benchmarks.gpu_training import CASES, MODEL, figures, padded, samples
from tunix_rt.base.errors import TunixRTError
from tunix_rt.engines.planning.step import model_flops
from tunix_rt.engines.weights.sources import resolve_model
from tunix_rt.recipes.load import resolve_recipe
from tunix_rt.recipes.types import Recipe
from tunix_rt.tokenization.encoding import EncodedExample
from tunix_rt.tokenization.packing import Batches, BatchSettings

CASE_TIMEOUT_S = 420
TRL_ROW_LENGTH, TRL_ROWS = 1536, 11
# Not every CPU computes in bfloat16.
_FLOAT32 = {"compute": "float32"}


@dataclass(frozen=True)
class Setup:
    """Where a case runs, and how much of it."""

    device: Device = "gpu"
    model: str = MODEL
    num_samples: int = 550
    num_epochs: int = 4
    num_seed_steps: int = 30
    sets: tuple[str, ...] = ()
    """Changes to the recipes of our cases."""

    @property
    def torch_name(self) -> str:
        """What torch calls the device."""
        return "cuda" if self.device == "gpu" else "cpu"

    def recipe(self, name: str) -> Recipe:
        """The recipe of one of our cases."""
        values = CASES[name].recipe().model_dump(mode="json")
        values["model"]["name"] = self.model
        if self.device == "cpu":
            values["data"]["row_length"] = 256
            values["training"] |= {"batch_size": 4, "gradient_accumulation_steps": 1, "precision": _FLOAT32}
        return resolve_recipe(values, sets=self.sets).recipe

    def examples(self) -> list[EncodedExample]:
        """The samples, with ids that the model has."""
        return samples(self.architecture.vocab_size)[: self.num_samples]

    @property
    def architecture(self) -> Any:
        """The shape of the model."""
        return resolve_model(self.recipe("full-adamw").model, needs_weights=False).architecture

    def random_model(self) -> Any:
        """The model as transformers makes it; in bfloat16 on a GPU."""
        import torch
        import transformers

        config = dict(resolve_model(self.recipe("full-adamw").model, needs_weights=False).config)
        read = transformers.AutoConfig.for_model(config.pop("model_type"), **config)
        dtype = torch.bfloat16 if self.device == "gpu" else torch.float32
        with torch.device(self.torch_name):
            return transformers.AutoModelForCausalLM.from_config(read, dtype=dtype)

    def peak_gib(self) -> float | None:
        """The most memory that torch held; None on a CPU."""
        import torch

        return round(torch.cuda.max_memory_allocated() / 2**30, 2) if self.device == "gpu" else None

    def synchronize(self) -> None:
        """Wait for the device."""
        import torch

        if self.device == "gpu":
            torch.cuda.synchronize()


GPU = Setup()
TINY = Setup("cpu", "tiny-gemma", num_samples=24, num_epochs=1, num_seed_steps=2)


def run_ours(setup: Setup, name: str) -> dict[str, Any]:
    """Our torch engine's own step; the first epoch is warm-up."""
    recipe, examples, architecture = setup.recipe(name), setup.examples(), setup.architecture
    batches = Batches(examples, BatchSettings(recipe.data.row_length, recipe.training.batch_size), pad_id=0)
    step = open_step("torch", recipe, setup.device)
    epoch_seconds, losses, index = [], [], 0
    for _ in range(setup.num_epochs + 1):
        started = time.perf_counter()
        loss: Any = None
        for _ in range(batches.num_batches_per_epoch):
            loss = step.start(batches.batch(index), index)
            index += 1
        losses.append(step.wait(loss))  # waits for the epoch, not for each step
        epoch_seconds.append(time.perf_counter() - started)
    num_tokens, memory = sum(map(len, examples)), step.memory()
    return figures(
        seconds=statistics.median(epoch_seconds[1:]),
        num_samples=len(examples),
        num_tokens=num_tokens,
        flops=model_flops(
            architecture,
            recipe,
            num_tokens=num_tokens,
            num_trained_tokens=batches.num_trained_tokens_per_epoch,
        ),
        num_parameters=architecture.num_parameters,
        details={
            "fill_ratio": round(batches.fill_ratio, 4),
            "steps_per_epoch": batches.num_batches_per_epoch,
            "peak_gib": _gib(memory.get("peak_allocated_bytes")),
            "losses": [round(loss, 4) for loss in losses],
            **memory,
            **step.details,
        },
    )


def _gib(num_bytes: int | None) -> float | None:
    return None if num_bytes is None else round(num_bytes / 2**30, 2)


def run_seed(setup: Setup) -> dict[str, Any]:
    """What many people start from: HF Trainer, batch 1 padded to 128, accumulation 4, Adafactor."""
    from transformers import Trainer, TrainingArguments

    examples = setup.examples()
    chosen = [examples[i % len(examples)] for i in range(4 * setup.num_seed_steps)]
    with tempfile.TemporaryDirectory() as directory:
        arguments = TrainingArguments(
            output_dir=directory,
            per_device_train_batch_size=1,
            gradient_accumulation_steps=4,
            optim="adafactor",
            learning_rate=2e-5,
            bf16=setup.device == "gpu",
            max_steps=setup.num_seed_steps,
            logging_steps=10,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            use_cpu=setup.device == "cpu",
        )
        trainer = Trainer(
            model=setup.random_model(), args=arguments, train_dataset=[padded(one) for one in chosen]
        )
        return _trained_twice(setup, trainer, chosen, num_epochs=1)


def run_trl(
    setup: Setup, *, is_lora: bool, uses_liger: bool, keeps_activations: bool = False
) -> dict[str, Any]:
    """TRL's SFTTrainer with packed rows; by default it computes the activations of a layer again."""
    import datasets
    from trl import SFTConfig, SFTTrainer

    examples = setup.examples()
    rows = [
        {"input_ids": one.token_ids.tolist(), "completion_mask": one.loss_mask.tolist()} for one in examples
    ]
    with tempfile.TemporaryDirectory() as directory:
        arguments = SFTConfig(
            output_dir=directory,
            max_length=TRL_ROW_LENGTH if setup.device == "gpu" else 256,
            packing=True,
            per_device_train_batch_size=TRL_ROWS if setup.device == "gpu" else 2,
            num_train_epochs=setup.num_epochs,
            learning_rate=2e-5,
            optim="adamw_torch_fused",
            bf16=setup.device == "gpu",
            gradient_checkpointing=not keeps_activations,
            use_liger_kernel=uses_liger,
            completion_only_loss=True,
            logging_steps=10,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            use_cpu=setup.device == "cpu",
        )
        trainer = SFTTrainer(
            model=setup.random_model(),
            args=arguments,
            train_dataset=datasets.Dataset.from_list(rows),
            processing_class=_any_tokenizer(),
            peft_config=_lora() if is_lora else None,
        )
        return _trained_twice(setup, trainer, examples, num_epochs=setup.num_epochs)


def _lora() -> Any:
    from peft import LoraConfig

    return LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")


def _any_tokenizer() -> Any:
    """TRL wants one, although the rows are tokens already."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({"<pad>": 0, "<eos>": 1}, unk_token="<pad>"))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>")


def _trained_twice(
    setup: Setup, trainer: Any, examples: list[EncodedExample], *, num_epochs: int
) -> dict[str, Any]:
    """Figures of a second training; the first warms up kernels and allocator."""
    trainer.train()
    started = time.perf_counter()
    trainer.train()
    setup.synchronize()
    seconds = time.perf_counter() - started
    num_parameters = sum(parameter.numel() for parameter in trainer.model.parameters())
    num_tokens = num_epochs * sum(map(len, examples))
    return figures(
        seconds=seconds,
        num_samples=num_epochs * len(examples),
        num_tokens=num_tokens,
        flops=6 * num_parameters * num_tokens,
        num_parameters=num_parameters,
        details={"peak_gib": setup.peak_gib()},
    )


RUNS: dict[str, Callable[[Setup], dict[str, Any]]] = {
    "seed-hf-trainer": run_seed,
    "trl-packed": lambda setup: run_trl(setup, is_lora=False, uses_liger=False),
    "trl-packed-liger": lambda setup: run_trl(setup, is_lora=False, uses_liger=True),
    "trl-packed-liger-kept": lambda setup: run_trl(
        setup, is_lora=False, uses_liger=True, keeps_activations=True
    ),
    "trl-packed-liger-lora": lambda setup: run_trl(setup, is_lora=True, uses_liger=True),
    "trl-packed-liger-lora-kept": lambda setup: run_trl(
        setup, is_lora=True, uses_liger=True, keeps_activations=True
    ),
    **{f"ours-{name}": lambda setup, name=name: run_ours(setup, name) for name in CASES},  # type: ignore[misc]
}


def limit_memory(gib: float) -> None:
    """Let torch's allocator hold no more of the GPU."""
    import torch

    torch.cuda.set_per_process_memory_fraction(gib * 2**30 / torch.cuda.get_device_properties(0).total_memory)


def run_in_child(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Figures of a case, or why there are none."""
    command = [sys.executable, "-m", "benchmarks.torch_training", "--case", name]
    command += [f"--set={change}" for change in arguments.set]
    if arguments.site is not None:
        command += ["--site", str(arguments.site)]
    if arguments.limit_gib is not None:
        command += ["--limit-gib", str(arguments.limit_gib)]
    try:
        done = subprocess.run(
            command + ["--tiny"] * arguments.tiny,
            capture_output=True,
            text=True,
            timeout=CASE_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"no end after {CASE_TIMEOUT_S} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"samples_per_s"')]
    if done.returncode or not lines:
        return {"failed": (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1][:300]}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def main() -> None:
    """Run all cases, or one of them in this process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--case", choices=list(RUNS))
    parser.add_argument("--only", nargs="*", default=list(RUNS))
    parser.add_argument("--site", type=Path, help="folder with TRL, Liger and what they need")
    parser.add_argument("--limit-gib", type=float, help="memory of the GPU that a case may hold")
    parser.add_argument("--set", action="append", default=[], help="KEY=VALUE for the recipe of our cases")
    parser.add_argument("--tiny", action="store_true", help="a tiny model on the CPU")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.site is not None:
        # Behind what is installed: the folder must not replace torch or transformers.
        sys.path.append(str(arguments.site))
    if arguments.tiny and arguments.limit_gib is not None:
        parser.error("--limit-gib is for a GPU")
    if arguments.case:
        if arguments.limit_gib is not None:
            limit_memory(arguments.limit_gib)
        setup = replace(TINY if arguments.tiny else GPU, sets=tuple(arguments.set))
        try:
            print(json.dumps(RUNS[arguments.case](setup)))
        except TunixRTError as error:
            sys.exit(str(error))
        return
    results = {}
    for name in arguments.only:
        results[name] = run_in_child(name, arguments)
        print(f"{name:24} {json.dumps(results[name])}", flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
