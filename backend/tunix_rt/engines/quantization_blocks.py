"""Which blocks of weights can share a scale. No accelerator library is needed: the planner asks here too."""

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.architecture import Architecture
from tunix_rt.recipes.types import QuantizationSection

_USUAL_SIZES = (64, 32, 16, 8)


def check_blocks(section: QuantizationSection, architecture: Architecture) -> None:
    """Refuse a block size that does not fit every matrix of the layers.

    Raises:
        InvalidInputError: It does not divide the inputs of one.
    """
    for name, (num_inputs, _) in architecture.matrix_shapes.items():
        check_block(section, num_inputs, name)


def check_block(section: QuantizationSection, num_inputs: int, name: str) -> None:
    """The same for one matrix."""
    block_size = section.block_size
    if num_inputs % block_size == 0 and block_size % 2 == 0:
        return
    usable = [size for size in _USUAL_SIZES if num_inputs % size == 0]
    raise InvalidInputError(
        f"quantization.block_size {block_size} must be even and divide the {num_inputs} inputs of {name}.",
        next_step=f"Set it to {usable[0]}." if usable else "Use training.mode lora for this model.",
    )
