"""Cross-entropy over large vocabularies. The logits of one chunk of tokens exist at one time.

Logits cost a matrix product as large as several layers. So where gradients are asked for, the forward pass
turns each chunk of logits into the gradients of the hidden states and of the head at once, and the backward
pass only scales them: nothing is computed twice, and nothing of shape [tokens, vocabulary] is kept.

    hidden [n, D] ─┬─ chunk 0 ─ logits [c, V] ─┬─ loss
                   ├─ chunk 1 …                ├─ gradient of hidden [c, D]
                   └─ …                        └─ gradient of the head [V, D], summed over the chunks
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor


def chunked_loss(
    hidden: Tensor,
    head: Tensor,
    targets: Tensor,
    mask: Tensor,
    *,
    chunk_tokens: int | None,
    softcap: float | None = None,
) -> Tensor:
    """Sum of the losses of the tokens that the mask counts; a float32 scalar.

    Every token that is passed is computed: leave out those that do not count, which needs no mask here.
    The backward pass may run once.

    Args:
        hidden: [..., D]; its dtype is that of the matrix products. Softmax and sums are float32.
        head: [V, D], any float dtype. Its gradient has that dtype, and is made only where it is required.
        targets: [...], the id that each position must predict.
        mask: [...], 1 where the loss counts.
        chunk_tokens: Tokens whose logits exist at one time. None: all of them.
        softcap: Logits are bent to stay within ± this.
    """
    tokens = _Tokens(hidden.reshape(-1, hidden.shape[-1]), targets.reshape(-1), mask.reshape(-1).float())
    chunk_size = chunk_tokens or max(1, len(tokens.targets))
    if torch.is_grad_enabled() and (hidden.requires_grad or head.requires_grad):
        loss: Tensor = _LossWithGradients.apply(*tokens, head, chunk_size, softcap)  # type: ignore[no-untyped-call]
        return loss
    return _loss_alone(tokens, head, chunk_size, softcap)


class _Tokens(NamedTuple):
    """Tokens to be judged: all [n, ...] or one chunk [c, ...]."""

    hidden: Tensor
    targets: Tensor
    weights: Tensor

    def chunks(self, size: int) -> Iterator["_Tokens"]:
        for parts in zip(*(torch.split(tensor, size) for tensor in self), strict=True):
            yield _Tokens(*parts)


def _loss_alone(tokens: _Tokens, head: Tensor, chunk_size: int, softcap: float | None) -> Tensor:
    vectors = head.to(tokens.hidden.dtype)
    total = tokens.weights.new_zeros(())
    for chunk in tokens.chunks(chunk_size):
        logits = head_logits(chunk.hidden, vectors, softcap)
        total += _losses(logits, chunk.targets)[0] @ chunk.weights
    return total


class _LossWithGradients(torch.autograd.Function):
    """The loss, with gradients that are ready before the backward pass asks for them."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        targets: Tensor,
        weights: Tensor,
        head: Tensor,
        chunk_size: int,
        softcap: float | None,
    ) -> Tensor:
        vectors = head.to(hidden.dtype)
        total = weights.new_zeros(())
        # float32, so that the sum over many chunks loses nothing.
        head_grad = head.new_zeros(head.shape, dtype=torch.float32) if ctx.needs_input_grad[3] else None
        hidden_grad = torch.empty_like(hidden)
        chunks = _Tokens(hidden, targets, weights).chunks(chunk_size)
        for chunk, chunk_grad in zip(chunks, torch.split(hidden_grad, chunk_size), strict=True):
            logits = head_logits(chunk.hidden, vectors, softcap)
            losses, log_normalizers = _losses(logits, chunk.targets)
            total += losses @ chunk.weights
            logits_grad = _logits_grad(logits, log_normalizers, chunk, softcap).to(hidden.dtype)
            torch.mm(logits_grad, vectors, out=chunk_grad)
            if head_grad is not None:
                _add_product(head_grad, logits_grad.T, chunk.hidden)
        ctx.hidden_grad = hidden_grad
        ctx.head_grad = None if head_grad is None else head_grad.to(head.dtype)
        return total

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, loss_grad: Tensor) -> tuple[Tensor | None, ...]:
        # Scaled in place, since the head's gradient is as large as the head; a second pass would do it again.
        hidden_grad, head_grad = ctx.hidden_grad, ctx.head_grad
        del ctx.hidden_grad, ctx.head_grad
        hidden_grad.mul_(loss_grad)
        if head_grad is not None:
            head_grad.mul_(loss_grad)
        return hidden_grad, None, None, head_grad, None, None


def head_logits(hidden: Tensor, vectors: Tensor, softcap: float | None) -> Tensor:
    """[c, D] and [V, D] -> float32 [c, V]."""
    logits = _product(hidden, vectors.T)
    return logits if softcap is None else logits.div_(softcap).tanh_().mul_(softcap)


def _losses(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Loss of every token, and the logarithm of what its softmax divides by: [c], [c]."""
    log_normalizers = torch.logsumexp(logits, dim=-1)
    return log_normalizers - logits.gather(1, targets[:, None].long()).squeeze(1), log_normalizers


def _logits_grad(logits: Tensor, log_normalizers: Tensor, chunk: _Tokens, softcap: float | None) -> Tensor:
    """Softmax minus one at the target, times the weight of the token; overwrites the logits."""
    # tanh' = 1 - tanh², of the capped logits.
    slope = None if softcap is None else 1 - (logits / softcap).square_()
    grad = logits.sub_(log_normalizers[:, None]).exp_()
    grad.scatter_add_(1, chunk.targets[:, None].long(), torch.full_like(grad[:, :1], -1.0))
    if slope is not None:
        grad.mul_(slope)
    return grad.mul_(chunk.weights[:, None])


def _product(left: Tensor, right: Tensor) -> Tensor:
    """A float32 product; of bfloat16 it is summed and kept in float32."""
    if left.dtype == torch.float32:
        return left @ right
    if left.is_cuda:
        return torch.mm(left, right, out_dtype=torch.float32)
    # No CPU kernel gives more digits than it takes.
    return left.float() @ right.float()


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Add a product to a float32 sum in place."""
    if left.dtype == torch.float32:
        total.addmm_(left, right)
    else:
        total.add_(_product(left, right))
