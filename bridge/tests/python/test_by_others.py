# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators that are made of others on the device: values, gradients, and no fallback."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
import torch.nn.functional as F  # noqa: N812  as everybody calls it
from beside_cpu import Call, check, share, signed, whole

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor


pytestmark = pytest.mark.usefixtures("takes_programs")


CALLS: dict[str, tuple[Call, list[Tensor]]] = {
    "glu": (F.glu, [signed(4, 6)]),
    "glu of the first dimension": (partial(F.glu, dim=0), [signed(4, 6)]),
    "prelu": (F.prelu, [signed(3, 4, 5), signed(4)]),
    "prelu of one weight": (F.prelu, [signed(3, 4, 5), signed(1)]),
    "logsigmoid": (F.logsigmoid, [signed(5, 7) * 30]),
    "cross entropy": (F.binary_cross_entropy, [share(5, 4), share(5, 4)]),
    "cross entropy, weighed": (
        lambda x, y, w: F.binary_cross_entropy(x, y, w.detach()),
        [share(5, 4), share(5, 4), share(5, 4)]),
    "cross entropy, summed": (
        partial(F.binary_cross_entropy, reduction="sum"), [share(5, 4), share(5, 4)]),
    "cross entropy of logits": (F.binary_cross_entropy_with_logits, [signed(5, 4), share(5, 4)]),
    "trace": (torch.trace, [signed(5, 7)]),
    "trace of integers": (torch.trace, [whole(5, 3)]),
    "channel shuffle": (partial(F.channel_shuffle, groups=3), [signed(2, 6, 4, 4)]),
    "cross": (torch.linalg.cross, [signed(5, 3), signed(5, 3)]),
    "cross, broadcast": (partial(torch.linalg.cross, dim=0), [signed(3, 1), signed(3, 4)]),
    "isin": (torch.isin, [whole(5, 4), whole(3)]),
    "isin, inverted": (partial(torch.isin, invert=True), [whole(5, 4), whole(3)]),
    "isin a number": (lambda x: torch.isin(x, 3), [whole(5, 4)]),
    "a number to a power": (lambda x: 2.5**x, [signed(5, 4)]),
    "renorm": (partial(torch.renorm, p=2, dim=0, maxnorm=1.5), [signed(5, 4)]),
    "equal": (torch.equal, [whole(5, 4), whole(5, 4)]),
    "not equal": (torch.equal, [signed(5, 4), signed(4, 5)]),
    "mean of squares": (F.mse_loss, [signed(5, 4), share(5, 4)]),
    "squares": (partial(F.mse_loss, reduction="none"), [signed(5, 4), share(5, 4)]),
    "unfold": (lambda x: x.unfold(1, 3, 2), [signed(4, 9)]),
    "im2col": (partial(F.unfold, kernel_size=(3, 2), padding=1, dilation=(1, 2), stride=2),
               [signed(2, 3, 7, 6)]),
    "col2im": (partial(F.fold, output_size=(7, 6), kernel_size=(3, 2), padding=1, dilation=(1, 2),
                       stride=2), [signed(2, 18, 12)]),
    "bucketize": (torch.bucketize, [signed(5, 4), signed(9).sort().values]),
    "searchsorted": (torch.searchsorted, [signed(5, 9).sort().values, signed(5, 4)]),
    "scatter of nothing": (
        lambda x: x.gather(0, torch.empty(0, dtype=torch.int64, device=x.device)), [signed(5)]),
    "smooth L1": (partial(F.smooth_l1_loss, beta=0.5), [signed(5, 4), share(5, 4)]),
    "smooth L1, summed": (
        partial(F.smooth_l1_loss, reduction="sum"), [signed(5, 4), share(5, 4)]),
    "smooth L1 of each": (
        partial(F.smooth_l1_loss, reduction="none"), [signed(5, 4), share(5, 4)]),
    "Huber": (partial(F.huber_loss, delta=0.5), [signed(5, 4), share(5, 4)]),
    "Huber, summed": (partial(F.huber_loss, reduction="sum"), [signed(5, 4), share(5, 4)]),
    "complex": (
        lambda x, y: torch.view_as_real(torch.complex(x, y)), [signed(5, 4), share(5, 4)]),
    "complex, broadcast": (
        lambda x, y: torch.view_as_real(torch.complex(x, y)), [signed(5, 1), share(4)]),
    "take along": (lambda x, i: x.take_along_dim(i, 1), [signed(5, 4), whole(5, 2, most=4)]),
    "the rest of a division": (lambda x: (x - 3) % 4, [whole(5, 4)]),
    "a quotient of integers": (lambda x: (x - 3) // 2, [whole(5, 4)]),
    "median of a number": (lambda x: x.median(0), [signed()]),
    "median of a number, without NaN": (lambda x: x.nanmedian(-1, keepdim=True), [signed()]),
    "any of a number": (lambda x: torch.any(x, dim=[]), [signed()]),
    "windows of a number": (lambda x: x.unfold(0, 1, 1), [signed()]),
    "gather nothing": (
        lambda x: x.gather(0, torch.empty(2, 0, dtype=torch.uint8, device=x.device)), [signed(5)]),
    "layer norm of nothing": (
        lambda x, w, b: F.layer_norm(x, w.shape, w, b), [signed(0, 6), signed(6), share(6)]),
    "group norm of nothing": (
        lambda x, w, b: F.group_norm(x, 2, w, b), [signed(0, 6), signed(6), share(6)]),
    "layer norm of one row": (
        lambda x, w, b: F.layer_norm(x, x.shape, w, b), [signed(4, 6), signed(4, 6), share(4, 6)]),
    "logspace": (lambda x: torch.logspace(-1, 2, 7, base=3.0, device=x.device) * x, [signed(7)]),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_composition(name: str, backend: DeviceModule, device: torch.device) -> None:
    call, inputs = CALLS[name]
    check(call, inputs, backend, device)


@pytest.mark.filterwarnings("ignore:.*non-contiguous:UserWarning")
@pytest.mark.parametrize("name", CALLS)
def test_of_what_is_not_contiguous(name: str, backend: DeviceModule, device: torch.device) -> None:
    call, inputs = CALLS[name]
    check(call, [one.mT.contiguous().mT if one.dim() > 1 else one for one in inputs], backend,
          device)  # fmt: skip


@pytest.mark.parametrize("form", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("sizes", [(2, 3, 4, 6), (3, 4, 6)])
def test_the_inverse_of_max_pooling(
    sizes: tuple[int, ...], form: torch.memory_format, backend: DeviceModule, device: torch.device
) -> None:
    image = signed(*sizes)
    image = image.contiguous(memory_format=form) if image.dim() == 4 else image
    values, places = F.max_pool2d(image, 2, return_indices=True)
    check(lambda x: F.max_unpool2d(x, places.to(x.device), [2, 2]), [values], backend, device)


def test_a_division_by_zero(device: torch.device) -> None:
    calls: list[Call] = [
        lambda x: x % 0, lambda x: x // 0, lambda x: x.fmod(0), lambda x: x % 256]  # fmt: skip
    for call in calls:
        x = whole(5).to(torch.uint8)
        there = x.to(device)
        for operand in (x, there):
            with pytest.raises(RuntimeError, match="Zero"):
                call(operand)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_complex_output(dtype: torch.dtype, device: torch.device) -> None:
    parts = [signed(3, 4).to(dtype), share(3, 4).to(dtype)]
    there = [one.to(device) for one in parts]
    expected = torch.complex(*parts)
    for out in (torch.empty(0, dtype=expected.dtype, device=device),
                torch.empty(4, 3, dtype=expected.dtype, device=device).mT):  # fmt: skip
        assert torch.complex(*there, out=out) is out
        torch.testing.assert_close(out.cpu(), expected)
    with pytest.raises(RuntimeError):
        torch.complex(*there, out=torch.empty(3, 4, dtype=dtype, device=device))
    with pytest.raises(RuntimeError):
        torch.complex(there[0], there[1].half())


POLYNOMIALS = [
    f"{kind}polynomial_{letter}"
    for kind, letters in (("chebyshev_", "tuvw"), ("shifted_chebyshev_", "tuvw"),
                          ("hermite_", ("h", "he")), ("laguerre_", "l"), ("legendre_", "p"))
    for letter in letters
]  # fmt: skip


@pytest.mark.parametrize("name", POLYNOMIALS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_polynomials(
    name: str, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    call = getattr(torch.special, name)
    x = torch.tensor([-1.0, -0.7, -0.01, 0.0, 0.3, 0.99, 1.0, 1.5, -2.5], dtype=dtype)
    orders = torch.tensor([[-2.0], [-0.5], [0], [1], [2], [5], [6], [9]], dtype=dtype)
    expected = call(x, orders)
    backend.reset_fallbacks()
    seen = call(x.to(device), orders.to(device))
    assert backend.fallbacks() == []
    assert seen.dtype == expected.dtype
    limit = 1e-4 if dtype == torch.float32 else 1e-11
    torch.testing.assert_close(seen.cpu(), expected, rtol=limit, atol=limit)


def test_a_polynomial_of_a_high_order(backend: DeviceModule, device: torch.device) -> None:
    x = torch.tensor([0.3, -0.9])
    seen = torch.special.chebyshev_polynomial_t(x.to(device), torch.tensor([200.0]).to(device))
    torch.testing.assert_close(seen.cpu(), torch.cos(200 * torch.acos(x)), rtol=1e-3, atol=1e-3)


DRAWN: dict[str, tuple[Call, Callable[[Tensor], Tensor], float]] = {
    "bernoulli": (lambda x: torch.bernoulli(x * 0 + 0.3), Tensor.mean, 0.3),
    "normal of both": (lambda x: torch.normal(x * 0 + 2, x * 0 + 0.5), Tensor.mean, 2.0),
    "normal's deviation": (lambda x: torch.normal(x * 0, x * 0 + 0.5), Tensor.std, 0.5),
    "normal of a mean": (lambda x: torch.normal(x * 0 + 2, 0.5), Tensor.mean, 2.0),
    "normal of a deviation": (lambda x: torch.normal(2.0, x * 0 + 0.5), Tensor.mean, 2.0),
    "cauchy": (lambda x: x.cauchy_(3, 0.5), Tensor.median, 3.0),
    "geometric": (lambda x: x.geometric_(0.25), Tensor.mean, 4.0),
    "log normal": (lambda x: x.log_normal_(0.5, 0.25).log(), Tensor.mean, 0.5),
}


@pytest.mark.parametrize("name", DRAWN)
def test_distributions(name: str, backend: DeviceModule, device: torch.device) -> None:
    """Their figures, the same numbers for the same seed, and others for the next call."""
    draw, figure, expected = DRAWN[name]
    backend.reset_fallbacks()
    torch.manual_seed(7)
    first, second = (draw(torch.zeros(4000, device=device)).cpu() for _ in range(2))
    torch.manual_seed(7)
    again = draw(torch.zeros(4000, device=device)).cpu()
    assert backend.fallbacks() == []
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    assert figure(first).item() == pytest.approx(expected, abs=0.1 * max(1.0, expected))


def test_a_negative_deviation(backend: DeviceModule, device: torch.device) -> None:
    with pytest.raises(RuntimeError, match="std"):
        torch.normal(torch.zeros(2, device=device), torch.tensor([1.0, -1.0]).to(device))


@pytest.mark.parametrize("pair", [(2.0, 0.5), (0.5, 2.0), (-1.0, 0.0), (0.5, -1.0)])
def test_what_is_no_probability_has_no_loss(
    pair: tuple[float, float], device: torch.device
) -> None:
    """PyTorch's CPU raises. A target that is none may well give a number that looks right."""
    said, wanted = (torch.tensor([0.5, one], device=device) for one in pair)
    loss = F.binary_cross_entropy(said, wanted, reduction="none")
    assert torch.equal(loss.cpu().isnan(), torch.tensor([False, True]))
