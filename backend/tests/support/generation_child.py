"""Run as a child process, because devices and limits belong to a process. Prints its results as JSON.

python -m support.generation_child devices jax     complete the same prompts on one device and on all devices
python -m support.generation_child memory ENGINE   run with less memory than the batch needs
"""

import importlib
import json
import resource
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tunix_rt.engines.generation.base import GeneratorRequest, Prompt
from tunix_rt.engines.generation.generator import BatchGenerator
from tunix_rt.engines.types import Decoding, DeviceRequest
from tunix_rt.recipes.types import ModelSection

DRAWN = Decoding(max_new_tokens=12, temperature=1.0, seed=2)
NUM_PROMPTS = 11
LONGEST = 131_072
HEADROOM_BYTES = 1_100 * 2**20


AnyGenerator = BatchGenerator[Any]


def open_engine(engine: str, device_index: int | None = None) -> AnyGenerator:
    opening = importlib.import_module(f"tunix_rt.engines.{engine}.generation.generator")
    model = ModelSection(name="tiny-llama", weights="random")
    generator: AnyGenerator = opening.open_generator(
        GeneratorRequest(model, device=DeviceRequest("cpu", device_index))
    )
    return generator


def some_prompts(generator: AnyGenerator, count: int = NUM_PROMPTS) -> list[Prompt]:
    texts = [f"What is {number} + 3?" * (1 + number % 4) for number in range(count)]
    return [Prompt(text, generator.encoder.encode_prompt(text)) for text in texts]


def outcomes(
    generator: AnyGenerator, prompts: Sequence[Prompt], decoding: Decoding, **options: Any
) -> dict[str, Any]:
    """Return the tokens or the failure of each prompt, by its key."""
    return {
        completion.prompt.key: completion.failure or list(completion.token_ids)
        for finished in generator.generate(prompts, decoding, **options)
        for completion in finished
    }


def devices(engine: str) -> dict[str, Any]:
    one, every = open_engine(engine, device_index=0), open_engine(engine)
    prompts = some_prompts(one)
    return {
        "devices": [one.model.num_devices, every.model.num_devices],
        "one": outcomes(one, prompts, DRAWN, batch_size=4),
        "every": outcomes(every, prompts, DRAWN, batch_size=5),
    }


def memory(engine: str) -> dict[str, Any]:
    """Run out of memory: 84 MB of KV cache per row, and a prompt that does not fit even alone."""
    generator = open_engine(engine)
    architecture = replace(generator.source.architecture, max_positions=2 * LONGEST)
    patient = replace(generator, source=replace(generator.source, architecture=architecture))
    every_token = frozenset(range(architecture.vocab_size))
    ending = replace(patient, model=replace(generator.model, stop_ids=every_token))
    prompts = some_prompts(generator, 16)
    expected = outcomes(patient, prompts[:2], DRAWN)

    limit = _address_space_bytes() + HEADROOM_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    notes: list[str] = []
    long_rows = Decoding(max_new_tokens=LONGEST)
    ended = outcomes(ending, prompts, long_rows, batch_size=16, on_note=notes.append)
    mixed = outcomes(patient, [Prompt("huge", [1] * 40_000), *prompts[:2]], DRAWN)
    return {"notes": notes, "ended": ended, "expected": expected, "mixed": mixed}


def _address_space_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


if __name__ == "__main__":
    json.dump({"devices": devices, "memory": memory}[sys.argv[1]](sys.argv[2]), sys.stdout)
