"""Opening generators with either engine, and the errors for unusable models."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from support.encoders import write_tokenizer

from tunix_rt.base.errors import DataError, InvalidInputError, NotFoundError, TunixRTError
from tunix_rt.engines.generation.base import Completion, GeneratorRequest, Prompt
from tunix_rt.engines.generation.generator import BatchGenerator
from tunix_rt.engines.jax.export import export_model
from tunix_rt.engines.jax.generation import generator as jax_opening
from tunix_rt.engines.jax.model.lora import abstract_adapters
from tunix_rt.engines.jax.model.params import abstract_params
from tunix_rt.engines.jax.program import build_program
from tunix_rt.engines.jax.sharding import make_mesh
from tunix_rt.engines.torch.generation import generator as torch_opening
from tunix_rt.engines.torch.model.decoder import DecoderOptions, open_decoder
from tunix_rt.engines.types import Decoding, DeviceRequest
from tunix_rt.engines.weights.sources import ModelSource, resolve_model
from tunix_rt.recipes.types import LoraSection, ModelSection, Recipe, ShardingSection
from tunix_rt.tokenization.chat_template import choose_template
from tunix_rt.tokenization.encoding import TraceEncoder
from tunix_rt.tokenization.tokenizer import load_tokenizer

# On shared cores, two spinning threads are slower than one.
torch.set_num_threads(1)

AnyGenerator = BatchGenerator[Any]
Open = Callable[[GeneratorRequest], AnyGenerator]

TINY = ModelSection(name="tiny-llama", weights="random")
LORA = LoraSection(rank=3, alpha=12.0, targets=("q", "v", "o", "down"))
CPU = DeviceRequest("cpu")


@pytest.fixture(params=[jax_opening, torch_opening], ids=["jax", "torch"])
def open_generator(request: pytest.FixtureRequest) -> Open:
    open_with_engine: Open = request.param.open_generator
    return open_with_engine


def make_recipe(seed: int = 0, **sections: Any) -> Recipe:
    training = {
        "num_steps": 1,
        "batch_size": 1,
        "seed": seed,
        "mode": "lora" if "lora" in sections else "full",
    }
    return Recipe.model_validate({"model": TINY.model_dump(), "training": training, **sections})


def random_like(tree: Any, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: jnp.asarray(0.2 * rng.standard_normal(leaf.shape, np.float32)), tree)


@pytest.fixture(scope="module")
def source() -> ModelSource:
    return resolve_model(TINY)


@pytest.fixture(scope="module")
def models(source: ModelSource, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directories `base`, `adapter` (trained on `base`) and `merged` (both in one model)."""
    root = tmp_path_factory.mktemp("models")
    tokenizer = load_tokenizer("tiny")
    encoder = TraceEncoder(tokenizer, choose_template(tokenizer, "chatml"))
    params = random_like(abstract_params(source.architecture, "float32"), seed=0)
    adapters = random_like(abstract_adapters(source.architecture, LORA), seed=1)
    export_model(root / "base", params, None, make_recipe(), source, encoder)
    recipe = make_recipe(lora=LORA.model_dump())
    export_model(root / "adapter", params, adapters, recipe, source, encoder)
    merging = recipe.model_copy(update={"output": recipe.output.model_copy(update={"merge_adapters": True})})
    export_model(root / "merged", params, adapters, merging, source, encoder)
    return root


def open_directory(open_generator: Open, directory: Path, **request: Any) -> AnyGenerator:
    return open_generator(GeneratorRequest(ModelSection(name=str(directory)), device=CPU, **request))


def complete(generator: AnyGenerator, *prompts: Prompt) -> list[Completion]:
    return [one for finished in generator.generate(prompts, Decoding(max_new_tokens=8)) for one in finished]


def test_random_weights_match_jax_training(source: ModelSource) -> None:
    mesh = make_mesh(ShardingSection(fsdp=1), jax.devices()[:1])
    program = build_program(make_recipe(seed=5), source.architecture, mesh, num_steps=1, platform="cpu")
    start = program.random_params()
    model = jax_opening.open_generator(GeneratorRequest(TINY, seed=5, device=CPU)).model
    np.testing.assert_array_equal(model.weights.params["embedding"], start["embedding"])
    for index, layer in enumerate(model.weights.params["layers"]):
        for name, weight in layer.items():
            np.testing.assert_array_equal(weight, start["layers"][name][index])


def test_random_weights_match_torch_training(source: ModelSource) -> None:
    start = open_decoder(source, DecoderOptions(seed=5, is_random=True), torch.device("cpu")).module
    generator = torch_opening.open_generator(GeneratorRequest(TINY, seed=5, device=CPU))
    torch.testing.assert_close(
        generator.model.decoder.module.state_dict(), start.state_dict(), rtol=0.0, atol=0.0
    )


def test_adapter_generates_like_the_merged_model(open_generator: Open, models: Path) -> None:
    adapted = open_directory(open_generator, models / "base", adapter=models / "adapter")
    merged = open_directory(open_generator, models / "merged")
    prompt = Prompt("a", merged.encoder.encode_prompt("What is 17 + 25?"))
    [expected] = complete(merged, prompt)
    assert complete(adapted, prompt) == [expected]
    assert complete(open_directory(open_generator, models / "base"), prompt) != [expected]


def test_adapter_brings_its_chat_template(open_generator: Open, models: Path, tmp_path: Path) -> None:
    base = shutil.copytree(models / "base", tmp_path / "base")
    (base / "chat_template.jinja").write_text("{{ messages[0].content }}", encoding="utf-8")
    alone, adapted = (
        open_directory(open_generator, base),
        open_directory(open_generator, base, adapter=models / "adapter"),
    )
    assert (
        adapted.encoder.template.sha256
        == open_directory(open_generator, models / "base").encoder.template.sha256
    )
    assert alone.encoder.template.sha256 != adapted.encoder.template.sha256


def test_default_precision_on_cpu_is_float32(open_generator: Open, models: Path) -> None:
    default = open_directory(open_generator, models / "base")
    requested = open_directory(open_generator, models / "base", precision="bfloat16")
    formats = [_weight_dtype(generator.model) for generator in (default, requested)]
    assert [default.precision, requested.precision] == formats == ["float32", "bfloat16"]
    assert default.device.startswith("cpu: 1 x cpu")


def _weight_dtype(model: Any) -> str:
    if isinstance(model, jax_opening.LoadedModel):
        return str(model.weights.params["layers"][0]["q"].dtype.name)
    return str(model.decoder.layers[0].self_attn.q_proj.weight.dtype).removeprefix("torch.")


def test_refused_prompts_fail_alone_and_first(open_generator: Open, source: ModelSource) -> None:
    generator = open_generator(GeneratorRequest(TINY, device=CPU))
    limit, vocab_size = generator.max_tokens, source.architecture.vocab_size
    prompts = [Prompt("long", [1] * limit), Prompt("empty", []), Prompt("unknown", [1, vocab_size])]
    failures = {one.prompt.key: one.failure for one in complete(generator, *prompts)}
    assert failures == {"long": "prompt-too-long", "empty": "prompt-refused", "unknown": "prompt-refused"}


def test_completion_ends_at_max_positions(open_generator: Open, source: ModelSource) -> None:
    generator = open_generator(GeneratorRequest(TINY, device=CPU))
    short = replace(
        generator, source=replace(source, architecture=replace(source.architecture, max_positions=6))
    )
    [one] = complete(short, Prompt("a", [1, 300, 301, 302]))
    assert (one.failure, len(one.token_ids) + one.has_ended) == (None, 2)


def test_empty_batch_size_is_refused(open_generator: Open) -> None:
    generator = open_generator(GeneratorRequest(TINY, device=CPU))
    with pytest.raises(InvalidInputError, match="The batch size is 0"):
        list(generator.generate([Prompt("a", [1])], Decoding(), batch_size=0))


def copy_without(models: Path, tmp_path: Path, *names: str) -> Path:
    copy = shutil.copytree(models / "base", tmp_path / "broken")
    for name in names:
        (copy / name).unlink()
    return copy


@pytest.mark.parametrize(
    ("missing", "error", "message"),
    [
        ("tokenizer.json", NotFoundError, "no tokenizer.json"),
        ("config.json", NotFoundError, "no config.json"),
        ("model.safetensors", TunixRTError, "model.safetensors"),
    ],
)
def test_missing_model_file_is_named(
    missing: str,
    error: type[TunixRTError],
    message: str,
    open_generator: Open,
    models: Path,
    tmp_path: Path,
) -> None:
    with pytest.raises(error, match=message):
        open_directory(open_generator, copy_without(models, tmp_path, missing))


def test_mismatched_tokenizer_is_rejected(open_generator: Open, models: Path, tmp_path: Path) -> None:
    other = write_tokenizer(tmp_path / "tokenizer")
    section = ModelSection(name=str(models / "base"), tokenizer=str(other))
    with pytest.raises(DataError, match="is not the model's"):
        open_generator(GeneratorRequest(section, device=CPU))


def test_mismatched_adapter_is_rejected(open_generator: Open, models: Path) -> None:
    other = ModelSection(name="tiny-qwen3", weights="random")
    with pytest.raises(DataError, match="does not fit the model"):
        open_generator(GeneratorRequest(other, adapter=models / "adapter", device=CPU))


def test_built_in_model_requires_random_weights(open_generator: Open) -> None:
    with pytest.raises(InvalidInputError, match="no pretrained weights"):
        open_generator(GeneratorRequest(ModelSection(name="tiny-llama"), device=CPU))


def test_engines_generate_same_completions(models: Path) -> None:
    jax_generator, torch_generator = (
        open_directory(opening.open_generator, models / "base", adapter=models / "adapter")
        for opening in (jax_opening, torch_opening)
    )
    prompts = [
        Prompt(text, jax_generator.encoder.encode_prompt(text)) for text in ("1 + 1?", "What is 17 + 25?")
    ]
    by_key = [
        {one.prompt.key: one for one in complete(model, *prompts)}
        for model in (jax_generator, torch_generator)
    ]
    assert by_key[0] == by_key[1]
