"""The norm of every family, computed as the JAX engine computes it."""

import torch
from torch import Tensor, nn


class RmsNorm(nn.Module):
    """Root mean square norm over the last axis, computed in float32, returned in the format of x.

    It takes the place of transformers' own. Those return the format of the weight (Llama, Qwen3), so that
    norms kept in float32 would turn every activation into float32.
    """

    def __init__(self, weight: nn.Parameter, *, epsilon: float, adds_one: bool) -> None:
        super().__init__()
        self.weight = weight
        self.epsilon = epsilon
        self.adds_one = adds_one

    def forward(self, x: Tensor) -> Tensor:
        """[..., D] -> [..., D]."""
        factor = self.weight.float() + 1.0 if self.adds_one else self.weight.float()
        return torch.nn.functional.rms_norm(x.float(), factor.shape, factor, self.epsilon).to(x.dtype)


def replace_norms(module: nn.Module, *, epsilon: float, adds_one: bool) -> None:
    """Put our norms in place of those of a transformers model; names and weights stay."""
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if type(child).__name__.endswith("RMSNorm"):
                weight = child.get_parameter("weight")
                setattr(parent, name, RmsNorm(weight, epsilon=epsilon, adds_one=adds_one))
