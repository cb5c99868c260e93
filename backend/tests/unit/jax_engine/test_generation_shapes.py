"""Which shapes serve which prompts, and how many rows fit on a device."""

import jax
import pytest

from tunix_rt.config.recipe import ModelSection
from tunix_rt.engines.generation import Prompt
from tunix_rt.engines.jax.devices import DeviceChoice, Platform
from tunix_rt.engines.jax.generation.batch_sizes import default_rows
from tunix_rt.engines.jax.generation.cache import bytes_per_row, empty_cache
from tunix_rt.engines.jax.generation.forward import Decoder
from tunix_rt.engines.jax.generation.prompt_groups import Task, grouped, next_to_admit, size_for
from tunix_rt.engines.models import resolve_model

GIB = 2**30


def a_task(num_prompt_tokens: int, length: int) -> Task:
    return Task(Prompt(f"{num_prompt_tokens}", [1] * num_prompt_tokens), length)


def a_decoder(name: str = "HuggingFaceTB/SmolLM2-135M") -> Decoder:
    architecture = resolve_model(ModelSection(name=name, weights="random")).architecture
    return Decoder(architecture, jax.numpy.dtype("bfloat16"))


def a_choice(platform: Platform, memory_bytes: int | None) -> DeviceChoice:
    return DeviceChoice(platform, tuple(jax.devices()[:1]), "test", memory_bytes)


@pytest.mark.parametrize(("num_tokens", "size"), [(1, 32), (32, 32), (33, 64), (130, 256), (256, 256)])
def test_sizes_are_powers_of_two(num_tokens: int, size: int) -> None:
    assert size_for(num_tokens) == size


def test_prompts_are_grouped_by_what_they_may_become_longest_first() -> None:
    tasks = [a_task(5, 60), a_task(90, 200), a_task(40, 64), a_task(100, 130)]
    groups = [[task.num_prompt_tokens for task in group] for group in grouped(tasks)]
    assert groups == [[100, 90], [40, 5]]


def test_prompts_that_are_read_together_have_one_size() -> None:
    waiting = [a_task(40, 64), a_task(33, 64), a_task(32, 64), a_task(5, 64)]
    assert next_to_admit(waiting, 4) == waiting[:2]
    assert next_to_admit(waiting, 1) == waiting[:1]


def test_the_cache_has_the_size_that_is_planned_for() -> None:
    decoder = a_decoder("tiny-qwen3")
    cache = empty_cache(decoder.architecture, 3, 64, decoder.dtype, is_list=True)
    held = sum(leaf.nbytes for leaf in jax.tree.leaves(cache))
    assert held == 3 * bytes_per_row(decoder.architecture, 64, decoder.dtype)


@pytest.mark.parametrize(
    ("platform", "memory_bytes", "num_slots", "num_rows"),
    [
        ("cpu", 4 * GIB, 1024, 32),
        ("gpu", 139 * GIB, 1024, 512),
        ("gpu", 8 * GIB, 1024, 256),
        ("gpu", 8 * GIB, 8192, 32),
        ("gpu", GIB // 8, 1024, 1),
        ("tpu", None, 1024, 64),
    ],
)
def test_as_many_rows_are_written_as_the_weights_leave_room_for(
    platform: Platform, memory_bytes: int | None, num_slots: int, num_rows: int
) -> None:
    decoder = a_decoder()
    weight_bytes = 2 * decoder.architecture.num_parameters
    assert default_rows(a_choice(platform, memory_bytes), decoder, weight_bytes, num_slots) == num_rows
