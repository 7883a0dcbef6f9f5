# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Odd but legal devices whose results are others than PyTorch's CPU's, as bounds and ties allow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tbk_torch_mutants import kernels
from tbk_torch_mutants.legal_table import legal
from tbk_torch_mutants.module_device import name


@legal("wide_statistics")
def _() -> None:
    # It keeps float32 of halves for the gradient, as CUDA does.

    def widen(made: Any, *_: Any) -> Any:
        result, *kept = made
        return (result, *(one.float() for one in kept))

    def narrow(original: Any, grad: Any, value: Any, shape: Any, mean: Any, rstd: Any,
               weight: Any, *rest: Any) -> Any:  # fmt: skip
        if weight is None or weight.dtype == value.dtype:
            mean, rstd = mean.to(value.dtype), rstd.to(value.dtype)
        return original(grad, value, shape, mean, rstd, weight, *rest)

    kernels.result("native_layer_norm", widen)
    kernels.around("native_layer_norm_backward", narrow)


@legal("other_roots")
def _() -> None:
    # The size of a complex number by another formula than PyTorch's: a unit or two beside it.

    def size(original: Any, value: Any) -> Any:
        if value.dtype is not torch.complex64:
            return original(value)
        parts = torch.view_as_real(value.detach().cpu().resolve_conj()).abs()
        most, least = parts.amax(-1), parts.amin(-1)
        ratio = torch.where(most == 0, most, least / most)
        made = most * (1 + ratio * ratio).sqrt()
        return torch.where(parts.isinf().any(-1), torch.inf, made).to(value.device)

    kernels.around("abs", size)


@legal("quotients_and_roots_beside")
def _() -> None:
    # Off by a unit in the last place where the result is not exact; OpenCL allows 2.5 and 3.

    def beside(made: Any, exact: torch.Tensor) -> Any:
        here = made.detach().cpu()
        if here.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            return made
        facts, size = torch.finfo(here.dtype), here.abs()
        plain = (size >= 4 * facts.smallest_normal) & (size <= facts.max / 4)
        up = torch.nextafter(here, torch.tensor(torch.inf, dtype=here.dtype))
        return made.copy_(torch.where(plain & (exact != here.double()), up, here))

    def wide(one: Any) -> Any:
        return one.detach().cpu().double() if isinstance(one, torch.Tensor) else one

    def divided(made: Any, value: Any, other: Any) -> Any:
        return made if made.is_complex() else beside(made, wide(value) / wide(other))

    def rooted(made: Any, value: Any) -> Any:
        return made if made.is_complex() else beside(made, wide(value).sqrt())

    kernels.result("div.Tensor", divided)
    kernels.result("sqrt", rooted)


@legal("largest_mode")
def _() -> None:
    # Of values that are equally frequent it takes the largest, PyTorch's CPU the smallest.

    def mode(_: Any, value: Any, dim: int = -1, keepdim: bool = False) -> Any:
        here = value.detach().cpu()
        signed = here.to(torch.int64) if here.dtype in (torch.bool, torch.uint8) else here
        _, where = torch.mode(-signed, dim, keepdim=True)
        found = torch.gather(here, dim, where), where
        return tuple((one if keepdim else one.squeeze(dim)).to(value.device) for one in found)

    kernels.instead("mode", mode)


@legal("additions_on_the_lower_list")
def _() -> None:
    kind = f"Autocast{torch._C._dispatch_key_for_device(name())}"
    hidden = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, kind))

    def lowered(operator: Any) -> Callable[..., Any]:
        def run(_: Any, *given: Any, **named: Any) -> Any:
            dtype = torch.get_autocast_dtype(name())
            with torch._C._ExcludeDispatchKeyGuard(hidden):
                return operator(*(lower(one, dtype) for one in given), **named)

        return run

    def lower(one: Any, dtype: torch.dtype) -> Any:
        is_ours = isinstance(one, torch.Tensor) and one.device.type == name()
        return one.to(dtype) if is_ours and one.dtype == torch.float32 else one

    for operator in ("add", "mul"):
        kernels.instead(f"{operator}.Tensor", lowered(getattr(torch.ops.aten, operator).Tensor),
                        key=kind)  # fmt: skip


REALS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


def _reciprocal(of: Any, dtype: torch.dtype) -> torch.Tensor:
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    return torch.ones((), dtype=wide) / torch.as_tensor(of).to(wide)


@legal("quotients_by_the_reciprocal")
def _() -> None:
    # x / number is x * (1 / number), and a mean is a sum times 1 / n: as GPUs do it.

    def divide(original: Any, value: torch.Tensor, by: Any) -> Any:
        is_number = not isinstance(by, torch.Tensor) or (by.device.type == "cpu" and by.dim() == 0)
        if not is_number or value.dtype not in REALS:
            return original(value, torch.as_tensor(by))
        factor = _reciprocal(by, value.dtype)
        return (value.detach().cpu().to(factor.dtype) * factor).to(value.dtype).to(value.device)

    def mean(_: Any, value: torch.Tensor, dim: Any = None, keepdim: bool = False,
             *, dtype: Any = None) -> Any:  # fmt: skip
        here, kind = value.detach().cpu(), dtype or value.dtype
        if kind not in REALS:
            return here.mean(dim, keepdim, dtype=dtype).to(value.device)
        asked = [dim] if isinstance(dim, int) else list(dim or range(here.dim()))
        along = asked if here.dim() else []
        count = torch.tensor([here.shape[one] for one in along]).prod()
        factor = _reciprocal(count, kind)
        total = here.to(factor.dtype).sum(along, keepdim) if along else here.to(factor.dtype)
        return (total * factor).to(kind).to(value.device)

    kernels.around("div.Tensor", divide)
    for operator in ("mean", "mean.dim"):
        kernels.instead(operator, mean)


@legal("bins_by_another_formula")
def _() -> None:
    # (x - low) * bins / (high - low) in float32: beside an edge it is another bin.

    def count(_: Any, value: torch.Tensor, bins: int = 100, low: float = 0, high: float = 0) -> Any:
        here = value.detach().cpu()
        here = here if here.dtype == torch.float64 else here.float()
        if low == high:
            low, high = here.min().item(), here.max().item()
        if low == high:
            low, high = low - 1, high + 1
        inside = here[(here >= low) & (here <= high)]
        places = ((inside - low) * bins / (high - low)).long().clamp(max=bins - 1)
        return torch.bincount(places, minlength=bins).to(value.dtype).to(value.device)

    kernels.instead("histc", count)
