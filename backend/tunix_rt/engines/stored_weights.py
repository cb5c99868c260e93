"""Which tensors a model directory must hold, and whether it does. No accelerator library is needed."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from tunix_rt.base.errors import DataError
from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.param_shapes import param_shapes
from tunix_rt.engines.safetensors_reader import StoredTensor
from tunix_rt.engines.tensor_names import tensor_places

_FLOAT_FORMATS = ("F32", "BF16", "F16")
# Where the text model lies: by itself, or inside a Gemma 3 that also sees images.
_TEXT_PREFIXES = ("model.", "model.language_model.", "language_model.model.", "")
_HEAD_NAMES = ("lm_head.weight", "language_model.lm_head.weight")
_EMBEDDING, _HEAD = "model.embed_tokens.weight", "lm_head.weight"
# Old files keep the table of rotary frequencies, which follows from the config.
_DERIVED = "rotary_emb.inv_freq"
_ROWS_PER_COMPARISON = 256


def text_tensors(stored: Mapping[str, StoredTensor]) -> dict[str, StoredTensor]:
    """The tensors of the text model under the names that it has by itself."""
    prefix = next((prefix for prefix in _TEXT_PREFIXES if f"{prefix}embed_tokens.weight" in stored), "model.")
    heads = [stored[name] for name in _HEAD_NAMES if name in stored]
    text = {
        f"model.{name.removeprefix(prefix)}": tensor
        for name, tensor in stored.items()
        if name.startswith(prefix) and name not in _HEAD_NAMES and not name.endswith(_DERIVED)
    }
    return text | {_HEAD: heads[0]} if heads else text


def check_tensors(tensors: Mapping[str, StoredTensor], architecture: Architecture, directory: Path) -> None:
    """Refuse weights that are not exactly those of the architecture, before the first is read."""
    expected = dict(expected_shapes(architecture))
    for name, shape in expected.items():
        if name not in tensors:
            raise DataError(
                f"The weights in {directory} lack the tensor {name}.",
                next_step="Download the model again: files or its config.json do not belong together.",
            )
        _check_tensor(tensors[name], shape)
    for name in sorted(tensors.keys() - expected.keys() - {_HEAD}):
        raise _unusable(tensors[name], "is not explained by config.json")
    if architecture.is_embedding_tied and _HEAD in tensors:
        _check_tied(tensors[_HEAD], tensors[_EMBEDDING])


def expected_shapes(architecture: Architecture) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Name and shape of every tensor of a model directory, matrices [out, in], tied ones once."""
    shapes = param_shapes(architecture)
    for place in tensor_places(architecture):
        shape = place.leaf_of(shapes)[1 if place.is_stacked else 0 :]
        for name in place.hf_names:
            yield name, shape[::-1] if place.is_transposed else shape


def _check_tensor(tensor: StoredTensor, shape: tuple[int, ...]) -> None:
    if tensor.shape != shape:
        raise _unusable(tensor, f"has shape {list(tensor.shape)}, but config.json asks for {list(shape)}")
    if tensor.format not in _FLOAT_FORMATS:
        raise _unusable(tensor, f"is stored as {tensor.format}, not as a float of 16 or 32 bits")


def _check_tied(head: StoredTensor, embedding: StoredTensor) -> None:
    """A head that is stored although it is tied must be the embedding."""
    if head.shape != embedding.shape:
        raise _unusable(head, f"has shape {list(head.shape)}, but it is tied to {list(embedding.shape)}")
    num_rows = head.shape[0]
    for start in range(0, num_rows, _ROWS_PER_COMPARISON):
        rows = slice(start, min(start + _ROWS_PER_COMPARISON, num_rows))
        if not bool((head.read(rows) == embedding.read(rows)).all()):
            raise _unusable(head, "differs from the embedding, although config.json ties them")


def _unusable(tensor: StoredTensor, reason: str) -> DataError:
    return DataError(
        f"The tensor {tensor.name} in {tensor.path.name} {reason}.",
        next_step="Use the config.json that belongs to these weights (tie_word_embeddings, sizes, layers), "
        "or download the model again.",
    )
