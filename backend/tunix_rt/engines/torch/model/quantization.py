"""4- and 8-bit frozen matrices.

Every `block_size` consecutive inputs of one output share a float32 scale, as in the JAX engine:

    nf4     by bitsandbytes: 4 bits per weight, at the quantiles of a normal distribution
    int8    by this module in plain torch: bitsandbytes has no 8-bit integers with a scale per block

The forward and the backward pass dequantise one matrix at a time.
"""

from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from tunix_rt.base.errors import InvalidInputError, MissingExtraError
from tunix_rt.engines.planning.limits import check_blocks
from tunix_rt.engines.torch.model.decoder import Decoder
from tunix_rt.engines.weights.architecture import MATRIX_MODULES, Architecture
from tunix_rt.recipes.types import QuantizationSection

EXTRA = "torch-qlora"
_NF4_BLOCK_SIZES = (32, 64, 128, 256, 512, 1024, 2048, 4096)
"""Block sizes that bitsandbytes supports."""
_INT8_MAX = 127


def require_quantization(section: QuantizationSection, architecture: Architecture) -> None:
    """Reject unsupported quantisation settings before anything is loaded.

    Raises:
        InvalidInputError: The block size cannot be used with this model or format.
        MissingExtraError: nf4 needs bitsandbytes.
    """
    check_blocks(section, architecture)
    if section.format != "nf4":
        return
    if section.block_size not in _NF4_BLOCK_SIZES:
        raise InvalidInputError(
            f"quantization.block_size {section.block_size}: bitsandbytes supports nf4 with blocks of "
            f"{', '.join(map(str, _NF4_BLOCK_SIZES))}.",
            next_step="Set quantization.block_size: 64, or quantization.format: int8.",
        )
    if find_spec("bitsandbytes") is None:
        raise MissingExtraError("quantization.format nf4 with the torch engine", extra=EXTRA)


def quantize_layers(decoder: Decoder, section: QuantizationSection, device: torch.device) -> None:
    """Quantise the matrices of the layers one by one and move them to the device.

    The decoder may be on the host, so that a model can be used that does not fit on the device unquantised.

    Raises:
        InvalidInputError: The block size cannot be used with this model or format.
        MissingExtraError: nf4 needs bitsandbytes.
    """
    require_quantization(section, decoder.architecture)
    for layer in decoder.layers:
        for path in MATRIX_MODULES.values():
            parent_path, _, name = path.rpartition(".")
            parent = layer.get_submodule(parent_path)
            matrix = getattr(parent, name)
            if section.format == "nf4":
                quantized = _nf4_linear(matrix, section, decoder.compute_dtype)
            else:
                quantized = Int8Linear(matrix.weight.data, section.block_size)
            setattr(parent, name, quantized.to(device))


def plain_weight(module: Any) -> Tensor | None:
    """The dequantised values [out, in] of a matrix; None if it is not quantised."""
    if isinstance(module, Int8Linear):
        return _dequantize(module.weight, module.scales, torch.float32)
    if hasattr(module.weight, "quant_state"):
        from bitsandbytes.functional import dequantize_4bit

        values: Tensor = dequantize_4bit(module.weight.data, module.weight.quant_state)
        return values
    return None


class Int8Linear(nn.Linear):
    """A frozen matrix of 8-bit integers [out, in] with float32 scales [out, in / block_size].

    A subclass of Linear, because PEFT adds adapters to Linear modules.
    """

    scales: Tensor

    def __init__(self, weight: Tensor, block_size: int) -> None:
        num_outputs, num_inputs = weight.shape
        super().__init__(num_inputs, num_outputs, bias=False, device="meta")
        blocks = weight.float().unflatten(1, (-1, block_size))
        scales = blocks.abs().amax(dim=-1) / _INT8_MAX
        codes = torch.round(blocks / torch.where(scales > 0, scales, 1.0)[..., None])
        self.weight = nn.Parameter(codes.flatten(1).to(torch.int8), requires_grad=False)
        self.register_buffer("scales", scales)

    def forward(self, input: Tensor) -> Tensor:
        """[..., in] -> [..., out] in the format of the input."""
        product: Tensor = _FrozenProduct.apply(input, self.weight, self.scales)  # type: ignore[no-untyped-call]
        return product


class _FrozenProduct(torch.autograd.Function):
    """Saves the codes for the backward pass; the dequantised values would be a second, larger model."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, codes: Tensor, scales: Tensor) -> Tensor:
        ctx.save_for_backward(codes, scales)
        return linear(x, _dequantize(codes, scales, x.dtype))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        codes, scales = ctx.saved_tensors
        return grad @ _dequantize(codes, scales, grad.dtype), None, None


def _dequantize(codes: Tensor, scales: Tensor, dtype: torch.dtype) -> Tensor:
    blocks = codes.unflatten(1, (scales.shape[1], -1)).float()
    values: Tensor = (blocks * scales[..., None]).flatten(1).to(dtype)
    return values


def _nf4_linear(matrix: nn.Linear, section: QuantizationSection, compute: torch.dtype) -> nn.Module:
    from bitsandbytes.nn import Linear4bit, Params4bit

    quantized: nn.Module = Linear4bit(
        matrix.in_features, matrix.out_features, bias=False, compute_dtype=compute, device="meta"
    )
    quantized.weight = Params4bit(
        matrix.weight.data,
        requires_grad=False,
        quant_type="nf4",
        blocksize=section.block_size,
        compress_statistics=False,
    )
    return quantized
