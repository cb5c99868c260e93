"""Loading the decoder of a recipe."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from support.programs import random_batch, tiny_recipe
from support.tiny_models import tiny_model
from support.torch_models import decoder_of
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tunix_rt.base.errors import DataError, InvalidInputError
from tunix_rt.engines.torch.devices import choose_device
from tunix_rt.engines.torch.model.decoder import Decoder, apply_remat
from tunix_rt.engines.torch.start import load_decoder
from tunix_rt.engines.types import DeviceRequest
from tunix_rt.engines.weights.sources import resolve_model
from tunix_rt.recipes.types import ModelSection, Recipe, Remat

MODEL = ModelSection(name="tiny-gemma", weights="random")


def _loaded(recipe: Recipe) -> Decoder:
    random = recipe.model_copy(update={"model": MODEL})
    return load_decoder(resolve_model(MODEL), random, choose_device(DeviceRequest("cpu")))


class _MatmulCounter(TorchDispatchMode):
    """Counts matrix products."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func is torch.ops.aten.mm.default
        return func(*args, **(kwargs or {}))


class _Backward(NamedTuple):
    gradients: list[Tensor]
    num_matmuls: int
    num_saved: int
    """Elements that the forward pass saved, except those that `dots` stores itself."""


def _backward(remat: Remat) -> _Backward:
    decoder = _loaded(tiny_recipe())
    apply_remat(decoder, remat, has_dropout=False, is_compiled=False)
    decoder.module.train()
    batch, num_saved = random_batch(), 0

    def pack(tensor: Tensor) -> Tensor:
        nonlocal num_saved
        num_saved += tensor.numel()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        hidden = decoder.hidden(
            *(torch.from_numpy(array).long() for array in (batch.tokens, batch.segment_ids, batch.positions))
        )
    with _MatmulCounter() as matmuls:
        hidden.square().sum().backward()
    gradients = [p.grad for p in decoder.module.model.parameters() if p.grad is not None]
    return _Backward(gradients, matmuls.count, num_saved)


def test_remat_saves_memory_with_equal_gradients() -> None:
    none, dots, block = map(_backward, ("none", "dots", "block"))

    for other in (dots, block):
        assert all(map(torch.equal, none.gradients, other.gradients))
        assert other.num_saved < none.num_saved / 4
    assert block.num_matmuls > dots.num_matmuls == none.num_matmuls


def test_random_weights_follow_seed() -> None:
    first, again, other = (_loaded(tiny_recipe(seed=seed)) for seed in (0, 0, 1))

    assert torch.equal(first.head_weight(), again.head_weight())
    assert not torch.equal(first.head_weight(), other.head_weight())
    spread = float(first.module.model.layers[0].mlp.up_proj.weight.detach().std())
    assert spread * first.architecture.hidden_size**0.5 == pytest.approx(1.0, abs=0.05)


def test_lora_trains_adapters_only() -> None:
    decoder = _loaded(tiny_recipe({"lora": {"rank": 2, "targets": ["q"]}}, mode="lora"))

    trained = [name for name, parameter in decoder.module.named_parameters() if parameter.requires_grad]

    assert len(trained) == 2 * decoder.architecture.num_layers
    assert all("q_proj.lora_" in name for name in trained)


def test_kernel_of_other_device_is_rejected() -> None:
    with pytest.raises(InvalidInputError, match=r"training\.attention splash.*--engine jax"):
        _loaded(tiny_recipe(attention="splash"))
    with pytest.raises(InvalidInputError, match=r"training\.attention cudnn.*NVIDIA GPUs only"):
        _loaded(tiny_recipe(attention="cudnn"))


def test_config_dropout_is_disabled_and_reported(tmp_path: Path) -> None:
    decoder = decoder_of(_saved_model(tmp_path, attention_dropout=0.25))

    assert decoder.notes == ("attention_dropout 0.25 of config.json is not applied",)
    assert decoder.module.model.layers[0].self_attn.attention_dropout == 0.0


def test_weight_shape_mismatch_is_rejected(tmp_path: Path) -> None:
    directory = _saved_model(tmp_path, intermediate_size=64)

    with pytest.raises(DataError, match=r"has shape .* but config\.json asks for"):
        decoder_of(directory)


def test_unsupported_architecture_is_rejected(tmp_path: Path) -> None:
    directory = _saved_model(tmp_path, model_type="gpt2")

    with pytest.raises(InvalidInputError, match="'gpt2' are not supported"):
        decoder_of(directory)


def _saved_model(directory: Path, **changes: object) -> Path:
    """A tiny Llama with changed values in its config.json."""
    tiny_model("llama").save_pretrained(directory)
    path = directory / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return directory
