"""The bytes of tensors, for files and checksums."""

from functools import partial
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from tunix_rt.engines.safetensors_writer import FORMATS, LazyTensor


def lazy_tensor(name: str, tensor: Tensor) -> LazyTensor:
    """A tensor that is brought to the host when it is written."""
    file_format = FORMATS[str(tensor.dtype).removeprefix("torch.")]
    return LazyTensor(name, tuple(tensor.shape), file_format, partial(bytes_of, tensor))


def bytes_of(tensor: Tensor) -> NDArray[Any]:
    """The bytes of a tensor in the order of its elements. numpy knows no bfloat16, but bytes."""
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    array: NDArray[Any] = flat.view(torch.uint8).numpy()
    return array
