"""How much faster the tiny Gemma writes in batches of 32 than one text at a time, on this CPU.

The same weights and prompts, greedy, every text 96 tokens long. Batches of 32 and of 1 take turns, so that a
busy machine slows both alike. Before them, transformers' `generate` writes one text at a time; in between, it
would slow what comes after it. Prints a table and exits 1 when the ratio is below its bar.

    python -m benchmarks.generation_cpu [--rounds 9] [--alone] [--json FILE]

`--alone` gives this process the cores for the tenths of a second that are measured: on a busy machine two
threads that must both be scheduled suffer more than one. It takes the right to a real-time priority.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import jax
import torch
from transformers import AutoModelForCausalLM

from tunix_rt.base.host import usable_cores
from tunix_rt.engines.generation.base import GeneratorRequest, Prompt
from tunix_rt.engines.jax.export import export_model
from tunix_rt.engines.jax.generation.generator import JaxGenerator, open_generator
from tunix_rt.engines.jax.model.params import init_params, random_keys
from tunix_rt.engines.types import Decoding, DeviceRequest
from tunix_rt.recipes.types import ModelSection, Recipe

BAR = 10.0
BATCH_SIZE = 32
NUM_PROMPTS = 64
NUM_ALONE = 4
"""Prompts of a round that are written one at a time."""
MODEL = ModelSection(name="tiny-gemma", weights="random")
DECODING = Decoding(max_new_tokens=96)

Way: TypeAlias = Callable[[], int]
"""Writes texts; how many tokens that were."""


def main() -> int:
    """Measure and print; 1 when the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--alone", action="store_true", help="with a real-time priority while measuring")
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    report = measure(arguments.rounds, is_alone=arguments.alone)
    for name, tokens_per_s in report["tokens_per_s"].items():
        print(f"  {name:22} {tokens_per_s:10,.0f} tokens/s")
    verdict = "ok" if report["passed"] else "MISSED"
    low, high = report["ratio_range"]
    print(
        f"  JAX {report['jax']}, {report['cores']} cores:"
        f" batch {BATCH_SIZE} is {report['ratio']:.1f} times batch 1"
        f" ({low:.1f} to {high:.1f}), bar ≥ {BAR:g}  {verdict}"
    )
    print(f"  batch 1 is {report['ratio_to_transformers']:.1f} times transformers")
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0 if report["passed"] else 1


def measure(num_rounds: int, *, is_alone: bool = False) -> dict[str, Any]:
    """Let the ways take turns; medians of their tokens a second, and of the ratio in a round."""
    generator = endless_generator()
    prompts = [
        Prompt(str(number), generator.encoder.encode_prompt(f"What is {number} + {number + 7}?"))
        for number in range(NUM_PROMPTS)
    ]
    reference = transformers_model(generator)
    [theirs] = in_turn([lambda: their_tokens(reference, prompts[:NUM_ALONE])], num_rounds, is_alone=is_alone)
    batched, alone = in_turn(
        [
            lambda: written(generator, prompts, BATCH_SIZE),
            lambda: written(generator, prompts[:NUM_ALONE], 1),
        ],
        num_rounds,
        is_alone=is_alone,
    )
    rates = {f"batch {BATCH_SIZE}": batched, "batch 1": alone, "transformers, batch 1": theirs}
    ratios = [many / one for many, one in zip(batched, alone, strict=True)]
    ratio = statistics.median(ratios)
    return {
        "model": MODEL.name,
        "jax": jax.__version__,
        "cores": usable_cores(),
        "rounds": num_rounds,
        "tokens_per_s": {name: round(statistics.median(values)) for name, values in rates.items()},
        "ratio": round(ratio, 2),
        "ratio_range": [round(min(ratios), 2), round(max(ratios), 2)],
        "ratio_to_transformers": round(statistics.median(alone) / statistics.median(theirs), 1),
        "passed": ratio >= BAR,
    }


def in_turn(ways: Sequence[Way], num_rounds: int, *, is_alone: bool) -> list[list[float]]:
    """Let every way write once a round; the tokens a second of each."""
    for way in ways:
        way()  # compiles
    rounds = [[tokens_per_s(way, is_alone=is_alone) for way in ways] for _ in range(num_rounds)]
    return [list(rates) for rates in zip(*rounds, strict=True)]


def tokens_per_s(way: Way, *, is_alone: bool) -> float:
    """Let one way write once."""
    with alone_on_the_cores() if is_alone else nullcontext():
        start = time.perf_counter()
        num_tokens = way()
        return num_tokens / (time.perf_counter() - start)


@contextmanager
def alone_on_the_cores() -> Iterator[None]:
    """All threads of this process, and those that they start, before those of every other one."""
    _schedule(os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        _schedule(os.SCHED_OTHER, os.sched_param(0))


def _schedule(policy: int, parameters: os.sched_param) -> None:
    for thread in os.listdir("/proc/self/task"):
        with suppress(ProcessLookupError):  # a thread that has ended meanwhile
            os.sched_setscheduler(int(thread), policy, parameters)


def endless_generator() -> JaxGenerator:
    """The tiny model, with no token that ends a text: every text has the same length."""
    generator = open_generator(GeneratorRequest(MODEL, device=DeviceRequest("cpu")))
    return replace(generator, model=replace(generator.model, stop_ids=frozenset()))


def written(generator: JaxGenerator, prompts: Sequence[Prompt], batch_size: int) -> int:
    """Write all prompts; how many tokens that was."""
    results = generator.generate(prompts, DECODING, batch_size=batch_size)
    return sum(len(one.token_ids) for finished in results for one in finished)


def transformers_model(generator: JaxGenerator) -> Any:
    """The same weights in transformers."""
    recipe = Recipe.model_validate({"model": MODEL.model_dump(), "training": {"num_steps": 1}})
    params = init_params(generator.source.architecture, random_keys(0).weights, "float32")
    with tempfile.TemporaryDirectory() as directory:
        target = Path(directory) / "model"
        export_model(target, params, None, recipe, generator.source, generator.encoder)
        model = AutoModelForCausalLM.from_pretrained(target).eval()
    model.generation_config.eos_token_id = None
    torch.set_num_threads(1)  # faster on 16 cores: the model is too small for more
    return model


def their_tokens(model: Any, prompts: Sequence[Prompt]) -> int:
    """Let transformers complete the prompts one by one; how many tokens it wrote."""
    num_tokens = 0
    for prompt in prompts:
        token_ids = torch.tensor([prompt.token_ids])
        mask = torch.ones_like(token_ids)
        output = model.generate(
            token_ids, attention_mask=mask, max_new_tokens=DECODING.max_new_tokens, do_sample=False
        )
        num_tokens += int(output.shape[1]) - len(prompt.token_ids)
    return num_tokens


if __name__ == "__main__":
    jax.config.update("jax_platforms", "cpu")
    sys.exit(main())
