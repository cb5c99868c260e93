"""The default batch size of generation."""

from dataclasses import replace

import pytest

from tunix_rt.engines.generation.scheduler import DeviceMemory, cache_numbers_per_row, default_rows
from tunix_rt.engines.weights.sources import resolve_model
from tunix_rt.recipes.types import ModelSection

ARCHITECTURE = resolve_model(ModelSection(name="tiny-llama", weights="random")).architecture
NUM_SLOTS = 1024
CACHE_BYTES = 2 * cache_numbers_per_row(ARCHITECTURE, NUM_SLOTS)
LOGIT_BYTES = 12 * ARCHITECTURE.vocab_size
GPU = DeviceMemory("gpu", num_devices=1, memory_bytes=2**40, weight_bytes=0)


def rows_of(memory: DeviceMemory) -> int:
    return default_rows(memory, ARCHITECTURE, num_slots=NUM_SLOTS, bytes_per_number=2)


def test_cache_counts_keys_and_values() -> None:
    one_slot = ARCHITECTURE.num_layers * ARCHITECTURE.num_kv_heads * ARCHITECTURE.head_dim
    assert cache_numbers_per_row(ARCHITECTURE, 1) == 2 * one_slot


@pytest.mark.parametrize(("num_fitting", "expected"), [(1, 1), (9, 8), (100, 64), (5_000, 512)])
def test_default_rows_fit_beside_weights(num_fitting: int, expected: int) -> None:
    weight_bytes = 10**9
    memory_bytes = int((num_fitting * (CACHE_BYTES + LOGIT_BYTES) + weight_bytes) / 0.8) + 2
    memory = replace(GPU, memory_bytes=memory_bytes, weight_bytes=weight_bytes)
    assert rows_of(memory) == expected
    assert rows_of(replace(memory, num_devices=4)) == 4 * expected


def test_full_device_gets_one_row() -> None:
    assert rows_of(replace(GPU, weight_bytes=2**40)) == 1


def test_default_rows_without_known_memory() -> None:
    assert rows_of(replace(GPU, platform="cpu", memory_bytes=2**20)) == 32
    assert rows_of(replace(GPU, memory_bytes=None)) == 64
