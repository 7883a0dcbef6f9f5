# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The forms in which an entry is called: as a function, in place, into `out=`, and of operands that
are not contiguous. What lies between the elements of a view counts as its value, too."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from table import FORMS, FUNCTION, IN_PLACE, NON_CONTIGUOUS, OUT
from torch.utils._pytree import tree_flatten, tree_map

# Each sample is written to the next of these.
OUTS = ("same", "steps", "empty", "other dtype", "offset")


def of(entry: Any) -> tuple[str, ...]:
    """Returns the forms that this entry has."""
    has = {
        FUNCTION: True,
        IN_PLACE: entry.inplace_variant is not None,
        OUT: entry.supports_out,
        NON_CONTIGUOUS: True,
    }
    return tuple(form for form in FORMS if has[form])


def tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def sample_of(sample: Any, form: str, number: int) -> Any:
    """The sample as this form takes it: in place, each second one is not contiguous."""
    apart = form == NON_CONTIGUOUS or (form == IN_PLACE and number % 2 == 1)
    return sample.noncontiguous() if apart else sample


def _base(tensor: torch.Tensor) -> torch.Tensor:
    """Returns all elements of its storage."""
    count = tensor.untyped_storage().nbytes() // max(tensor.element_size(), 1)
    return tensor.detach().as_strided((count,), (1,), 0)


def placed(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A copy of tensor and storage, with strides and offset as they are."""
    if tensor.layout is not torch.strided:
        return tensor.detach().to(device, copy=True)
    base = _base(tensor).to(device, copy=True)
    return base.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())


def laid_out(value: Any) -> list[Any]:
    """On the host: strides, and the whole storage of what was written."""
    return [
        part
        for tensor in tensors(value)
        for part in (list(tensor.stride()), _from_its_start(tensor.detach()).cpu())
    ]


def _from_its_start(tensor: torch.Tensor) -> torch.Tensor:
    """Returns all of its storage up to its last element: behind that, PyTorch may have kept
    room."""
    if tensor.numel() == 0:
        return tensor.reshape(-1)
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    end = tensor.storage_offset() + sum((size - 1) * step for size, step in steps) + 1
    return tensor.as_strided((end,), (1,), 0)


def agree(one: Any, other: Any) -> bool:
    """Returns whether two results are close, whatever their dtypes; with `out` some operators
    have none.
    """
    if one is None:
        return True
    pairs = zip(tensors(one), tensors(other), strict=True)
    return all(
        a.shape == b.shape
        and torch.allclose(a.to(torch.complex128), b.to(torch.complex128), 1e-3, 1e-3, True)
        for a, b in pairs
    )


def _other_dtype(dtype: torch.dtype) -> torch.dtype:
    others = {torch.float32: torch.float64, torch.int64: torch.float32, torch.bool: torch.uint8}
    return others.get(dtype, torch.float64)


def _poisoned(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    if dtype.is_floating_point or dtype.is_complex:
        return torch.full(shape, math.nan, dtype=dtype)
    return torch.full(shape, True if dtype == torch.bool else torch.iinfo(dtype).max, dtype=dtype)


def _out(result: torch.Tensor, kind: str) -> torch.Tensor:
    """On the host: what `result` is written to, full of what no result is."""
    shape, dtype = tuple(result.shape), result.dtype
    if kind == "empty":
        return torch.empty(0, dtype=dtype)
    if kind == "steps" and shape:
        return _poisoned((*shape[:-1], 2 * shape[-1]), dtype)[..., ::2]
    if kind == "offset":
        return _poisoned((3 + result.numel(),), dtype)[3:].view(shape)
    if kind == "other dtype":
        return _poisoned(shape, _other_dtype(dtype))
    return _poisoned(shape, dtype)


def outs(result: Any, number: int) -> Any:
    """On the host: one output for each tensor of `result`, of the kind of this sample's number."""
    kind = OUTS[number % len(OUTS)]
    return tree_map(lambda x: _out(x, kind) if isinstance(x, torch.Tensor) else x, result)


def function(entry: Any, form: str) -> Callable[..., Any]:
    """Returns what is called with the sample's arguments, and `out=` where there is one."""
    called: Callable[..., Any] = entry.inplace_variant if form == IN_PLACE else entry.op
    return called
