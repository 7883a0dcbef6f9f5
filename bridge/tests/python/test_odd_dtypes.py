# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Dtypes that programs do not have, and those that an operator refuses: as PyTorch's CPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F  # noqa: N812  as everybody calls it
from beside_cpu import signed, tensors
from likeness import check_same
from refused import check_refused

Tensor = torch.Tensor
aten = torch.ops.aten
Call = Callable[..., object]

pytestmark = pytest.mark.usefixtures("takes_programs")


def check_alike(call: Call, inputs: list[Tensor], device: torch.device) -> None:
    """Takes what the CPU refuses as refused."""

    def ours() -> object:
        return call(*(one.to(device) for one in inputs))

    try:
        expected = call(*inputs)
    except (RuntimeError, TypeError):
        check_refused(lambda: call(*inputs), ours, device)
        return
    seen = ours()
    for mine, other in zip(tensors(seen), tensors(expected), strict=True):
        check_same(mine, other)


LINE = signed(4, 6).abs() * 3
SQUARE = torch.tensor([[1, 2, 3], [2, 1, 0], [0, 1, 4]])
OF_NONE: dict[str, Call] = {
    "softmax": lambda x: torch.softmax(x, 1),
    "log_softmax, made wider": lambda x: torch.log_softmax(x, 1, torch.float32),
    "layer norm": lambda x: F.layer_norm(x, (6,)),
    "batch norm": lambda x: F.batch_norm(x, None, None, training=True),
    "cross": lambda x: torch.linalg.cross(x[:, :3], x[:, 3:]),
    "a number of steps": lambda x: torch.arange(0, 5, dtype=x.dtype, device=x.device),
    "a space": lambda x: torch.linspace(0, 5, 6, dtype=x.dtype, device=x.device),
    "a space of powers": lambda x: torch.logspace(0, 2, 3, 2, dtype=x.dtype, device=x.device),
    "ones on a diagonal": lambda x: torch.eye(3, dtype=x.dtype, device=x.device).view(torch.uint8),
    "what is below": lambda x: torch.tril(x).view(torch.uint8),
    "mantissas": lambda x: tuple(torch.frexp(x)),
    "mean squares": lambda x: F.mse_loss(x, x),
    "pooled": lambda x: F.avg_pool2d(x[None], 2),
    "larger": lambda x: F.interpolate(x[None, None], scale_factor=2.0, mode="bilinear"),
    "padded": lambda x: F.pad(x[None], (1, 1), mode="reflect"),
    "of Hermite": lambda x: torch.special.hermite_polynomial_h(x, 2),
    "a norm of lists": lambda x: torch._foreach_norm([x])[0],
    "roots of lists": lambda x: torch._foreach_sqrt([x])[0],
    "drawn": lambda x: x.clone().geometric_(0.5) * 0,
    "drawn far": lambda x: x.clone().cauchy_() * 0,
    "drawn above": lambda x: x.clone().log_normal_() * 0,
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "turned around": lambda x: torch.roll(x, 1, 1).view(torch.uint8),
}
STRANGE = [torch.float8_e5m2, torch.float8_e4m3fn, torch.uint16, torch.uint32, torch.uint64]


@pytest.mark.parametrize("dtype", STRANGE, ids=str)
@pytest.mark.parametrize("name", OF_NONE)
def test_dtypes_that_programs_do_not_have(
    name: str, dtype: torch.dtype, device: torch.device
) -> None:
    check_alike(OF_NONE[name], [LINE.to(dtype)], device)


def ratio_into(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return torch.addcdiv(a, b, c, out=torch.zeros(3, 3, device=a.device))


RATIOS: dict[str, Call] = {
    "made": torch.addcdiv,
    "in place": lambda a, b, c: a.clone().addcdiv_(b, c),
    "written": ratio_into,
    "of lists": lambda a, b, c: torch._foreach_addcdiv([a], [b], [c])[0],
    "of numbers": lambda a, b, c: torch.addcdiv(a, b[0, 0], c[0, 0]),
    "of a number of the host": lambda a, b, c: torch.addcdiv(a, b, torch.tensor(2)),
}


@pytest.mark.parametrize("divisor", [torch.int64, torch.bool, torch.float32], ids=str)
@pytest.mark.parametrize("divided", [torch.int64, torch.bool, torch.float32], ids=str)
@pytest.mark.parametrize("name", RATIOS)
def test_a_ratio_of_integers_is_refused(
    name: str, divided: torch.dtype, divisor: torch.dtype, device: torch.device
) -> None:
    """Whatever it is added to."""
    inputs = [signed(3, 3), SQUARE.to(divided), (SQUARE + 1).to(divisor)]
    check_alike(RATIOS[name], inputs, device)


ALIKE: dict[str, tuple[Call, list[Tensor]]] = {
    "truths drawn": (lambda x: x.geometric_(0.5), [torch.ones(3, dtype=torch.bool)]),
    "where modes are, over a part": (
        lambda x: torch.mode(x[:24].view(4, 6), 1, out=(x.new_empty(4), x[1:5])),
        [torch.arange(30)]),
    "a truth as alpha": (
        lambda m, v: torch.addr(m, v, v, alpha=True), [signed(3, 3), signed(3)]),
    "a truth as beta": (
        lambda m, v: torch.addr(m, v, v, beta=True), [signed(3, 3), signed(3)]),
    "a truth as beta, in place": (
        lambda m, v: m.addr_(v, v, beta=True), [signed(3, 3), signed(3)]),
    "a number by a number, in place": (lambda m, v: m.addr_(v, v), [signed(), signed()]),
    "a line by lines, in place": (lambda m, v: m.addr_(v, v), [signed(3), signed(3)]),
}  # fmt: skip


@pytest.mark.parametrize("name", ALIKE)
def test_what_is_refused(name: str, device: torch.device) -> None:
    call, inputs = ALIKE[name]
    check_alike(call, inputs, device)
