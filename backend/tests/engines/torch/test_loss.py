"""The chunked cross-entropy against the dense loss and the JAX engine, and its memory."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from support.tensor_sizes import LargestTensor
from torch import Tensor

from tunix_rt.engines.jax.training.loss import cross_entropy
from tunix_rt.engines.torch.training.loss import chunked_loss, loss_and_grad_fused, loss_and_grad_in_place

NUM_ROWS, NUM_COLUMNS, HIDDEN, VOCABULARY = 3, 11, 8, 50


class Case(NamedTuple):
    hidden: Tensor
    head: Tensor
    targets: Tensor
    mask: Tensor

    def to(self, dtype: torch.dtype) -> "Case":
        """A copy in another dtype, detached from the graph."""
        hidden, head = (tensor.detach().to(dtype).requires_grad_() for tensor in (self.hidden, self.head))
        return self._replace(hidden=hidden, head=head)


@pytest.fixture
def case() -> Case:
    torch.manual_seed(0)
    shape = (NUM_ROWS, NUM_COLUMNS)
    return Case(
        hidden=torch.randn(*shape, HIDDEN, requires_grad=True),
        head=torch.randn(VOCABULARY, HIDDEN, requires_grad=True),
        targets=torch.randint(VOCABULARY, shape),
        mask=(torch.rand(shape) < 0.5).to(torch.uint8),
    )


def dense_loss(case: Case, softcap: float | None) -> Tensor:
    logits = case.hidden.float() @ case.head.float().T
    if softcap is not None:
        logits = softcap * torch.tanh(logits / softcap)
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), case.targets.flatten(), reduction="none")
    return losses @ case.mask.flatten().float()


def loss_and_grads(loss: Tensor, case: Case) -> tuple[Tensor, Tensor, Tensor]:
    loss.backward()
    assert case.hidden.grad is not None
    assert case.head.grad is not None
    return loss.detach(), case.hidden.grad, case.head.grad


@pytest.mark.parametrize(
    ("chunk_tokens", "softcap"), [(None, None), (1, None), (6, None), (13, 3.0), (1000, 3.0)]
)
def test_chunked_loss_matches_dense(case: Case, chunk_tokens: int | None, softcap: float | None) -> None:
    same = case.to(torch.float32)

    results = loss_and_grads(chunked_loss(*case, chunk_tokens=chunk_tokens, softcap=softcap), case)

    for actual, expected in zip(results, loss_and_grads(dense_loss(same, softcap), same), strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)


def test_chunked_loss_matches_jax(case: Case) -> None:
    arrays = Case(*(tensor.detach().numpy() for tensor in case))

    def loss_sum(hidden: jax.Array, head: jax.Array) -> jax.Array:
        targets, mask = jnp.asarray(arrays.targets, jnp.int32), jnp.asarray(arrays.mask)
        return cross_entropy(hidden, head, targets, mask, chunk_tokens=6, softcap=3.0)[0]

    loss, grads = jax.jit(jax.value_and_grad(loss_sum, argnums=(0, 1)))(arrays.hidden, arrays.head)

    results = loss_and_grads(chunked_loss(*case, chunk_tokens=6, softcap=3.0), case)

    for actual, expected in zip(results, (loss, *grads), strict=True):
        np.testing.assert_allclose(actual.numpy(), np.asarray(expected), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("softcap", [None, 3.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_fused_loss_matches_in_place(dtype: torch.dtype, softcap: float | None) -> None:
    torch.manual_seed(0)
    logits, targets = torch.randn(7, 24) * 4, torch.arange(7)
    weights = torch.tensor([1.0, 1, 0, 1, 1, 1, 1])

    loss, grad = loss_and_grad_fused(logits, targets, weights, softcap, dtype)
    same_loss, same_grad = loss_and_grad_in_place(logits.clone(), targets, weights, softcap, dtype)

    torch.testing.assert_close(loss, same_loss)
    torch.testing.assert_close(grad, same_grad)


def test_loss_without_grad_is_equal(case: Case) -> None:
    with_grad = chunked_loss(*case, chunk_tokens=6, softcap=3.0)

    with torch.no_grad():
        without_grad = chunked_loss(*case, chunk_tokens=6, softcap=3.0)

    assert without_grad == with_grad
    assert without_grad.dtype == torch.float32


def test_gradients_scale_with_loss(case: Case) -> None:
    same = case.to(torch.float32)
    _, once, _ = loss_and_grads(chunked_loss(*case, chunk_tokens=6), case)

    _, thrice, _ = loss_and_grads(3.0 * chunked_loss(*same, chunk_tokens=6), same)

    torch.testing.assert_close(thrice, 3.0 * once)


def test_masked_tokens_get_no_gradient(case: Case) -> None:
    case.mask[1] = 0

    _, hidden_grad, _ = loss_and_grads(chunked_loss(*case, chunk_tokens=6), case)

    assert not hidden_grad[1].any()
    assert hidden_grad[0].any()


def test_empty_batch_has_zero_loss(case: Case) -> None:
    hidden, head = case.hidden[:0], case.head

    loss = chunked_loss(hidden, head, case.targets[:0], case.mask[:0], chunk_tokens=6)
    loss.backward()

    assert loss == 0
    assert case.hidden.grad is not None
    assert not case.hidden.grad.any()


def test_frozen_head_gets_no_gradient(case: Case) -> None:
    frozen = case._replace(head=case.head.detach())

    chunked_loss(*frozen, chunk_tokens=6).backward()

    assert frozen.head.grad is None
    assert case.hidden.grad is not None


def test_bfloat16_loss_is_computed_in_float32(case: Case) -> None:
    narrow = case.to(torch.bfloat16)
    exact = dense_loss(narrow, None).detach()

    loss, hidden_grad, head_grad = loss_and_grads(chunked_loss(*narrow, chunk_tokens=6), narrow)

    torch.testing.assert_close(loss, exact, rtol=1e-5, atol=1e-5)
    assert (hidden_grad.dtype, head_grad.dtype) == (torch.bfloat16, torch.bfloat16)


def test_float32_head_gets_float32_gradient(case: Case) -> None:
    """The hidden states are bfloat16."""
    mixed = case.to(torch.float32)._replace(hidden=case.to(torch.bfloat16).hidden)
    exact = mixed.to(torch.float32)
    _, _, expected = loss_and_grads(dense_loss(exact, None), exact)

    _, _, head_grad = loss_and_grads(chunked_loss(*mixed, chunk_tokens=6), mixed)

    assert head_grad.dtype == torch.float32
    torch.testing.assert_close(head_grad, expected, rtol=0, atol=0.02 * float(expected.abs().max()))


def test_second_backward_is_rejected(case: Case) -> None:
    loss = chunked_loss(*case, chunk_tokens=6)
    loss.backward(retain_graph=True)

    with pytest.raises(AttributeError, match="hidden_grad"):
        loss.backward()


@pytest.mark.parametrize("softcap", [None, 30.0])
def test_full_logits_are_never_allocated(softcap: float | None) -> None:
    num_tokens, hidden_size, vocabulary, chunk_tokens = 256, 4, 600, 16
    hidden = torch.randn(num_tokens, hidden_size, requires_grad=True)
    head = torch.randn(vocabulary, hidden_size, requires_grad=True)
    targets = torch.randint(vocabulary, (num_tokens,))

    with LargestTensor() as largest:
        loss = chunked_loss(
            hidden, head, targets, torch.ones(num_tokens), chunk_tokens=chunk_tokens, softcap=softcap
        )
        loss.backward()

    assert largest.num_elements == chunk_tokens * vocabulary
