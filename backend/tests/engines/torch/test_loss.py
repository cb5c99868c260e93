"""The chunked cross-entropy against the dense one and the JAX engine's, and what it never allocates."""

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
        """The same numbers as leaves of a new graph."""
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


def with_gradients(loss: Tensor, case: Case) -> tuple[Tensor, Tensor, Tensor]:
    loss.backward()
    assert case.hidden.grad is not None
    assert case.head.grad is not None
    return loss.detach(), case.hidden.grad, case.head.grad


@pytest.mark.parametrize(
    ("chunk_tokens", "softcap"), [(None, None), (1, None), (6, None), (13, 3.0), (1000, 3.0)]
)
def test_value_and_gradients_equal_the_dense_ones(
    case: Case, chunk_tokens: int | None, softcap: float | None
) -> None:
    same = case.to(torch.float32)

    found = with_gradients(chunked_loss(*case, chunk_tokens=chunk_tokens, softcap=softcap), case)

    for ours, theirs in zip(found, with_gradients(dense_loss(same, softcap), same), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_value_and_gradients_equal_those_of_the_jax_engine(case: Case) -> None:
    arrays = Case(*(tensor.detach().numpy() for tensor in case))

    def loss_sum(hidden: jax.Array, head: jax.Array) -> jax.Array:
        targets, mask = jnp.asarray(arrays.targets, jnp.int32), jnp.asarray(arrays.mask)
        return cross_entropy(hidden, head, targets, mask, chunk_tokens=6, softcap=3.0)[0]

    loss, grads = jax.jit(jax.value_and_grad(loss_sum, argnums=(0, 1)))(arrays.hidden, arrays.head)

    found = with_gradients(chunked_loss(*case, chunk_tokens=6, softcap=3.0), case)

    for ours, theirs in zip(found, (loss, *grads), strict=True):
        np.testing.assert_allclose(ours.numpy(), np.asarray(theirs), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("softcap", [None, 3.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_compiled_judges_as_what_is_not(dtype: torch.dtype, softcap: float | None) -> None:
    torch.manual_seed(0)
    logits, targets = torch.randn(7, 24) * 4, torch.arange(7)
    weights = torch.tensor([1.0, 1, 0, 1, 1, 1, 1])

    loss, grad = loss_and_grad_fused(logits, targets, weights, softcap, dtype)
    same_loss, same_grad = loss_and_grad_in_place(logits.clone(), targets, weights, softcap, dtype)

    torch.testing.assert_close(loss, same_loss)
    torch.testing.assert_close(grad, same_grad)


def test_the_loss_alone_equals_the_loss_beside_its_gradients(case: Case) -> None:
    beside_gradients = chunked_loss(*case, chunk_tokens=6, softcap=3.0)

    with torch.no_grad():
        alone = chunked_loss(*case, chunk_tokens=6, softcap=3.0)

    assert alone == beside_gradients
    assert alone.dtype == torch.float32


def test_gradients_are_scaled_by_what_follows_the_loss(case: Case) -> None:
    same = case.to(torch.float32)
    _, once, _ = with_gradients(chunked_loss(*case, chunk_tokens=6), case)

    _, thrice, _ = with_gradients(3.0 * chunked_loss(*same, chunk_tokens=6), same)

    torch.testing.assert_close(thrice, 3.0 * once)


def test_tokens_that_do_not_count_move_nothing(case: Case) -> None:
    case.mask[1] = 0

    _, hidden_grad, _ = with_gradients(chunked_loss(*case, chunk_tokens=6), case)

    assert not hidden_grad[1].any()
    assert hidden_grad[0].any()


def test_no_tokens_at_all_are_no_loss(case: Case) -> None:
    hidden, head = case.hidden[:0], case.head

    loss = chunked_loss(hidden, head, case.targets[:0], case.mask[:0], chunk_tokens=6)
    loss.backward()

    assert loss == 0
    assert case.hidden.grad is not None
    assert not case.hidden.grad.any()


def test_a_frozen_head_gets_no_gradient(case: Case) -> None:
    frozen = case._replace(head=case.head.detach())

    chunked_loss(*frozen, chunk_tokens=6).backward()

    assert frozen.head.grad is None
    assert case.hidden.grad is not None


def test_bfloat16_states_are_judged_in_float32(case: Case) -> None:
    narrow = case.to(torch.bfloat16)
    exact = dense_loss(narrow, None).detach()

    loss, hidden_grad, head_grad = with_gradients(chunked_loss(*narrow, chunk_tokens=6), narrow)

    torch.testing.assert_close(loss, exact, rtol=1e-5, atol=1e-5)
    assert (hidden_grad.dtype, head_grad.dtype) == (torch.bfloat16, torch.bfloat16)


def test_a_float32_head_gets_a_float32_gradient_from_bfloat16_states(case: Case) -> None:
    mixed = case.to(torch.float32)._replace(hidden=case.to(torch.bfloat16).hidden)
    exact = mixed.to(torch.float32)
    _, _, expected = with_gradients(dense_loss(exact, None), exact)

    _, _, head_grad = with_gradients(chunked_loss(*mixed, chunk_tokens=6), mixed)

    assert head_grad.dtype == torch.float32
    torch.testing.assert_close(head_grad, expected, rtol=0, atol=0.02 * float(expected.abs().max()))


def test_a_second_backward_pass_is_refused(case: Case) -> None:
    loss = chunked_loss(*case, chunk_tokens=6)
    loss.backward(retain_graph=True)

    with pytest.raises(AttributeError, match="hidden_grad"):
        loss.backward()


@pytest.mark.parametrize("softcap", [None, 30.0])
def test_logits_of_all_tokens_never_exist(softcap: float | None) -> None:
    num_tokens, hidden_size, vocabulary, chunk_tokens = 256, 4, 600, 16
    hidden = torch.randn(num_tokens, hidden_size, requires_grad=True)
    head = torch.randn(vocabulary, hidden_size, requires_grad=True)
    targets = torch.randint(vocabulary, (num_tokens,))

    with LargestTensor() as seen:
        loss = chunked_loss(
            hidden, head, targets, torch.ones(num_tokens), chunk_tokens=chunk_tokens, softcap=softcap
        )
        loss.backward()

    assert seen.num_elements == chunk_tokens * vocabulary
