"""Resolving models from every source, and the errors for models that cannot be used."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.encoders import write_tokenizer

from tunix_rt.base.assets import known_model_configs, shipped_model_config, shipped_model_names
from tunix_rt.base.errors import InvalidInputError, MissingExtraError, NotFoundError
from tunix_rt.engines.weights.sources import resolve_model, tokenizer_source
from tunix_rt.recipes.types import ModelSection
from tunix_rt.tokenization.tokenizer import load_tokenizer

COMMIT = "0123456789" * 4
HANDLE = "google/gemma/transformers/2b"


def random_section(name: str, **keys: str) -> ModelSection:
    return ModelSection(name=name, weights="random", **keys)


@pytest.fixture
def hub_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty local cache of an unreachable hub."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    return tmp_path


def write_model(directory: Path) -> Path:
    write_tokenizer(directory)
    (directory / "config.json").write_text(json.dumps(shipped_model_config("tiny-llama")))
    return directory


def cache_model(hub_cache: Path, hub_id: str) -> Path:
    repository = hub_cache / f"models--{hub_id.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    return write_model(repository / "snapshots" / COMMIT)


@pytest.mark.parametrize("name", shipped_model_names())
def test_built_in_model_matches_tokenizer(name: str) -> None:
    source = resolve_model(random_section(name))
    tokenizer = load_tokenizer(tokenizer_source(random_section(name), source))
    assert source.architecture.vocab_size == tokenizer.vocab_size
    assert source.config["eos_token_id"] == tokenizer.token_id("<eos>")
    assert source.directory is None


def test_built_in_models_cover_every_family() -> None:
    architectures = [resolve_model(random_section(name)).architecture for name in shipped_model_names()]
    assert {architecture.family for architecture in architectures} == {
        "gemma", "gemma2", "gemma3", "llama", "qwen3",
    }  # fmt: skip
    assert max(architecture.num_parameters for architecture in architectures) < 600_000


def test_built_in_model_requires_random_weights() -> None:
    with pytest.raises(InvalidInputError, match=r"tiny-gemma .*model\.weights: random"):
        resolve_model(ModelSection(name="tiny-gemma"))


@pytest.mark.parametrize(
    ("hub_id", "num_parameters"),
    [
        # Published parameter counts, with tied embeddings counted once.
        ("google/gemma-2b", 2_506_172_416),
        ("google/gemma-2-2b-it", 2_614_341_888),
        ("google/gemma-3-270m", 268_098_176),
        ("google/gemma-3-1b-it", 999_885_952),
        ("HuggingFaceTB/SmolLM2-135M-Instruct", 134_515_008),
        ("HuggingFaceTB/SmolLM2-360M", 361_821_120),
        ("HuggingFaceTB/SmolLM2-1.7B", 1_711_376_384),
        ("meta-llama/Llama-3.2-1B", 1_235_814_400),
        ("meta-llama/Llama-3.2-3B-Instruct", 3_212_749_824),
        ("Qwen/Qwen3-0.6B", 596_049_920),
        ("Qwen/Qwen3-1.7B", 1_720_574_976),
        ("Qwen/Qwen3-4B", 4_022_468_096),
    ],
)
def test_known_model_resolves_offline(hub_cache: Path, hub_id: str, num_parameters: int) -> None:
    source = resolve_model(ModelSection(name=hub_id), needs_weights=False)
    assert source.architecture.num_parameters == num_parameters
    assert source.directory is None


def test_random_weights_need_only_tokenizer(hub_cache: Path) -> None:
    section = random_section("google/gemma-2b")
    source = resolve_model(section)
    with pytest.raises(InvalidInputError, match="not in the local cache"):
        tokenizer_source(section, source)
    assert tokenizer_source(random_section("google/gemma-2b", tokenizer="tiny"), source) == "tiny"


def test_uncached_pretrained_weights_are_rejected(hub_cache: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"google/gemma-2b is not in the local cache"):
        resolve_model(ModelSection(name="google/gemma-2b"))


def test_directory_resolves_as_model(tmp_path: Path) -> None:
    section = ModelSection(name=str(write_model(tmp_path)))
    source = resolve_model(section)
    assert source.architecture.family == "llama"
    assert source.directory == tmp_path
    assert tokenizer_source(section, source) == str(tmp_path)


def test_cached_hub_model_records_commit(hub_cache: Path) -> None:
    snapshot = cache_model(hub_cache, "someone/some-model")
    section = ModelSection(name="someone/some-model")
    for source in (resolve_model(section), resolve_model(section, online=False)):
        assert source.directory == snapshot
        assert source.revision == COMMIT
    assert load_tokenizer(tokenizer_source(section, source)).vocab_size > 0


def test_incomplete_kaggle_download_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KAGGLEHUB_CACHE", str(tmp_path))
    variation = tmp_path / "models" / HANDLE
    for version in ("9", "10", "11"):
        write_model(variation / version)
    # The download of version 11 was cut short.
    (variation / "9.complete").touch()
    (variation / "10.complete").touch()
    assert resolve_model(ModelSection(name=f"kaggle:{HANDLE}/9")).directory == variation / "9"
    newest = resolve_model(ModelSection(name=f"kaggle:{HANDLE}"), online=False)
    assert newest.directory == variation / "10"
    with pytest.raises(NotFoundError, match="not in the local cache"):
        resolve_model(ModelSection(name=f"kaggle:{HANDLE}/11"), online=False)


def test_missing_kagglehub_names_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KAGGLEHUB_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "kagglehub", None)
    with pytest.raises(MissingExtraError, match=r"tunix-rt\[kaggle\]"):
        resolve_model(ModelSection(name=f"kaggle:{HANDLE}"))


@pytest.mark.parametrize(
    ("handle", "message"),
    [
        ("google/gemma", "not a Kaggle handle"),
        ("google/../x/transformers/2b", "not a Kaggle handle"),
        ("../x/transformers/2b", "not a Kaggle handle"),
        ("google/gemma/flax/2b", r"flax files.*kaggle:google/gemma/transformers"),
    ],
)
def test_invalid_kaggle_handle_is_rejected(handle: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        resolve_model(ModelSection(name=f"kaggle:{handle}"))


@pytest.mark.parametrize("name", ["tiny-gema", "tiny gemma", "/no/such/directory", "a/b/c", "../x"])
def test_unknown_name_suggests_nearest(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # independent of the files in the working directory
    with pytest.raises(NotFoundError, match="tiny-gemma"):
        resolve_model(ModelSection(name=name))


def test_misspelled_hub_id_suggests_nearest(hub_cache: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"google/gema-2-2b-it is not .* 'google/gemma-2-2b-it'"):
        resolve_model(ModelSection(name="google/gema-2-2b-it"))


@pytest.mark.parametrize("name", ["tiny-gemma", f"kaggle:{HANDLE}", "."])
def test_unsupported_revision_is_rejected(name: str) -> None:
    with pytest.raises(InvalidInputError, match=r"Remove model\.revision"):
        resolve_model(random_section(name, revision="main"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, r"has no config\.json"),
        ("{", r"config\.json of .* cannot be read"),
        ("[]", "not a JSON object"),
        ('{"model_type": "mistral"}', "'mistral' are not supported"),
        ('{"model_type": "llama"}', "num_attention_heads"),
    ],
)
def test_invalid_config_is_explained(text: str | None, message: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        resolve_model(ModelSection(name=str(tmp_path)))


def test_resolve_model_imports_no_accelerator() -> None:
    code = """
import sys
from tunix_rt.recipes.types import ModelSection
from tunix_rt.engines.weights.sources import resolve_model
resolve_model(ModelSection(name="google/gemma-2b"), needs_weights=False)
print({"jax", "torch", "transformers", "huggingface_hub"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_known_ids_are_supported() -> None:
    for hub_id in known_model_configs():
        assert resolve_model(ModelSection(name=hub_id), needs_weights=False).name == hub_id
