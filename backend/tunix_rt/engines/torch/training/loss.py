"""Chunked cross-entropy over large vocabularies.

Computing logits costs as much as several layers. When gradients are requested, the forward pass therefore
turns each chunk of logits into the gradients of the hidden states and the head right away, and the backward
pass only scales them: nothing is computed twice, and nothing of shape [tokens, vocabulary] is kept.

    hidden [n, D] ─┬─ chunk 0 ─ logits [c, V] ─┬─ loss
                   ├─ chunk 1 …                ├─ gradient of hidden [c, D]
                   └─ …                        └─ gradient of the head [V, D], summed over the chunks
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

LossAndGrad = Callable[[Tensor, Tensor, Tensor, float | None, torch.dtype], tuple[Tensor, Tensor]]
"""(logits, targets, weights, softcap, dtype) of a chunk -> summed loss, gradient of the logits."""

_LONGEST_SUM = 4096
"""Elements that one thread block sums; the power of two in the vocabulary size may allow only fewer."""


def chunked_loss(
    hidden: Tensor,
    head: Tensor,
    targets: Tensor,
    mask: Tensor,
    *,
    chunk_tokens: int | None,
    softcap: float | None = None,
    is_compiled: bool = False,
) -> Tensor:
    """Sum of the losses of the masked-in tokens, a float32 scalar.

    Masked-out tokens are computed too, so pass only trained tokens if possible. The backward pass may run
    once.

    Args:
        hidden: [..., D]; matrix products use its dtype. Softmax and sums are float32.
        head: [V, D], any float dtype. Its gradient has that dtype, and is computed only if required.
        targets: [...], the token id that each position must predict.
        mask: [...], 1 where the loss counts.
        chunk_tokens: Number of tokens whose logits exist at one time. None: all of them.
        softcap: Bound of the soft cap on the logits, or None.
        is_compiled: Fuse the operations on the logits with torch.compile when gradients are requested.
            Otherwise each operation is a pass through their memory.
    """
    tokens = _Tokens(hidden.reshape(-1, hidden.shape[-1]), targets.reshape(-1), mask.reshape(-1).float())
    chunk_size = chunk_tokens or max(1, len(tokens.targets))
    if torch.is_grad_enabled() and (hidden.requires_grad or head.requires_grad):
        loss_and_grad = _compiled_loss_and_grad() if is_compiled else loss_and_grad_in_place
        loss: Tensor = _LossWithGradients.apply(  # type: ignore[no-untyped-call]
            *tokens, head, chunk_size, softcap, loss_and_grad
        )
        return loss
    vectors, total = head.to(hidden.dtype), tokens.weights.new_zeros(())
    for chunk in tokens.chunks(chunk_size):
        logits = head_logits(chunk.hidden, vectors, softcap)
        total += _losses(logits, chunk.targets)[0] @ chunk.weights
    return total


class _Tokens(NamedTuple):
    """Inputs of the loss: all tokens [n, ...] or one chunk [c, ...]."""

    hidden: Tensor
    targets: Tensor
    weights: Tensor

    def chunks(self, size: int) -> Iterator["_Tokens"]:
        for parts in zip(*(torch.split(tensor, size) for tensor in self), strict=True):
            yield _Tokens(*parts)


class _LossWithGradients(torch.autograd.Function):
    """The loss, with gradients computed in the forward pass."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        targets: Tensor,
        weights: Tensor,
        head: Tensor,
        chunk_size: int,
        softcap: float | None,
        loss_and_grad: LossAndGrad,
    ) -> Tensor:
        vectors = head.to(hidden.dtype)
        total = weights.new_zeros(())
        # float32, so that the sum over many chunks loses nothing.
        head_grad = head.new_zeros(head.shape, dtype=torch.float32) if ctx.needs_input_grad[3] else None
        hidden_grad = torch.empty_like(hidden)
        chunks = _Tokens(hidden, targets, weights).chunks(chunk_size)
        for chunk, chunk_grad in zip(chunks, torch.split(hidden_grad, chunk_size), strict=True):
            logits = _float32_matmul(chunk.hidden, vectors.T)
            loss, logits_grad = loss_and_grad(logits, chunk.targets, chunk.weights, softcap, hidden.dtype)
            del logits
            total += loss
            torch.mm(logits_grad, vectors, out=chunk_grad)
            if head_grad is not None and hidden.dtype == torch.float32:
                head_grad.addmm_(logits_grad.T, chunk.hidden)
            elif head_grad is not None:
                head_grad.add_(_float32_matmul(logits_grad.T, chunk.hidden))
        ctx.hidden_grad = hidden_grad
        ctx.head_grad = None if head_grad is None else head_grad.to(head.dtype)
        return total

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, loss_grad: Tensor) -> tuple[Tensor | None, ...]:
        # Scaled in place, because the gradient is as large as the head; hence a second pass is not allowed.
        hidden_grad, head_grad = ctx.hidden_grad, ctx.head_grad
        del ctx.hidden_grad, ctx.head_grad
        hidden_grad.mul_(loss_grad)
        if head_grad is not None:
            head_grad.mul_(loss_grad)
        return hidden_grad, None, None, head_grad, None, None, None


def loss_and_grad_in_place(
    logits: Tensor, targets: Tensor, weights: Tensor, softcap: float | None, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """The loss of a chunk and the gradient of its logits in `dtype`; overwrites the logits."""
    logits = _capped(logits, softcap)
    losses, log_normalizers = _losses(logits, targets)
    # tanh' = 1 - tanh², of the capped logits.
    slope = None if softcap is None else 1 - (logits / softcap).square_()
    grad = logits.sub_(log_normalizers[:, None]).exp_()
    grad.scatter_add_(1, targets[:, None].long(), torch.full_like(grad[:, :1], -1.0))
    if slope is not None:
        grad.mul_(slope)
    return losses @ weights, grad.mul_(weights[:, None]).to(dtype)


def loss_and_grad_fused(
    logits: Tensor, targets: Tensor, weights: Tensor, softcap: float | None, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """The same without in-place operations, for torch.compile to fuse."""
    capped = logits if softcap is None else softcap * torch.tanh(logits / softcap)
    # In two steps: one row is too long for a thread block, and a chunk has too few rows to fill a GPU.
    width = min(_LONGEST_SUM, capped.shape[1] & -capped.shape[1])
    log_normalizers = capped.unflatten(1, (-1, width)).logsumexp(dim=-1).logsumexp(dim=-1, keepdim=True)
    is_target = torch.arange(capped.shape[1], device=capped.device) == targets[:, None]
    losses = (log_normalizers - capped.gather(1, targets[:, None])).squeeze(1)
    grad = torch.exp(capped - log_normalizers) - is_target.float()
    if softcap is not None:
        grad = grad * (1 - (capped / softcap).square())
    return losses @ weights, (grad * weights[:, None]).to(dtype)


@functools.cache
def _compiled_loss_and_grad() -> LossAndGrad:
    # Dynamic, because the last chunk has a different number of tokens in every batch.
    return torch.compile(loss_and_grad_fused, dynamic=True)


def head_logits(hidden: Tensor, vectors: Tensor, softcap: float | None) -> Tensor:
    """[c, D] and [V, D] -> float32 [c, V]."""
    return _capped(_float32_matmul(hidden, vectors.T), softcap)


def _capped(logits: Tensor, softcap: float | None) -> Tensor:
    """Apply the soft cap in place."""
    return logits if softcap is None else logits.div_(softcap).tanh_().mul_(softcap)


def _losses(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Loss of every token, and the logarithm of its softmax normalizer: [c], [c]."""
    log_normalizers = torch.logsumexp(logits, dim=-1)
    return log_normalizers - logits.gather(1, targets[:, None].long()).squeeze(1), log_normalizers


def _float32_matmul(left: Tensor, right: Tensor) -> Tensor:
    """Matrix product accumulated and returned in float32."""
    if left.dtype == torch.float32:
        return left @ right
    if left.is_cuda:
        return torch.mm(left, right, out_dtype=torch.float32)
    # CPU kernels return the dtype of their inputs.
    return left.float() @ right.float()
