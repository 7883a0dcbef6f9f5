# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Kernels around those that are registered."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

Around = Callable[..., Any]
"""Takes what was there before, as a function, and the arguments of the operator."""

# Kernels go with the library that registered them.
_library: list[torch.library.Library] = []


def keep(library: torch.library.Library) -> torch.library.Library:
    """Returns it; what it registers stays."""
    _library.append(library)
    return library


def around(operators: str, change: Around, key: str = "PrivateUse1") -> None:
    """Register `change` for each of the operators, such as "add.Tensor", around its kernel."""
    if not _library:
        _library.append(torch.library.Library("aten", "IMPL"))
    for operator in operators.split():
        _register(operator, change, key)


def _register(operator: str, change: Around, key: str) -> None:
    before = torch.library.get_kernel(f"aten::{operator}", key)
    name, _, overload = operator.partition(".")
    schema = getattr(getattr(torch.ops.aten, name), overload or "default")._schema
    places = [place for place, one in enumerate(schema.arguments) if str(one.type) == "Tensor"]

    def kernel(keys: torch.DispatchKeySet, *given: Any, **named: Any) -> Any:
        arguments = list(given)
        for place in places:
            if place < len(given) and not isinstance(given[place], torch.Tensor):
                arguments[place] = _tensor_of(given[place], given)

        def original(*arguments: Any, **named: Any) -> Any:
            return before.call_boxed(keys, *arguments, **named)

        return change(original, *arguments, **named)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a kernel is replaced is the point
        _library[0].impl(operator, kernel, key, with_keyset=True, allow_override=True)


def _tensor_of(number: Any, given: tuple[Any, ...]) -> torch.Tensor:
    """Returns a Python number, as which PyTorch hands a kernel in Python the tensor that it made of
    one, as a tensor that counts as little for the dtype of the result."""
    beside = next(one for one in given if isinstance(one, torch.Tensor))
    dtype = torch.result_type(beside, number)
    is_free = dtype == beside.dtype and beside.dim() > 0 and dtype.is_floating_point
    return torch.scalar_tensor(number, dtype=torch.float64 if is_free else dtype, device="cpu")


def instead(operator: str, kernel: Around, key: str = "PrivateUse1") -> None:
    """Register `kernel` where there was none; what it takes for the former one is None."""
    if not _library:
        _library.append(torch.library.Library("aten", "IMPL"))

    def call(*arguments: Any, **named: Any) -> Any:
        return kernel(None, *arguments, **named)

    _library[0].impl(operator, call, key)


def result(operators: str, change: Callable[..., Any], key: str = "PrivateUse1") -> None:
    """Register `change(result, *arguments)` as what the operators return."""

    def around_result(original: Around, *arguments: Any, **named: Any) -> Any:
        return change(original(*arguments, **named), *arguments)

    around(operators, around_result, key)


def on_host(tensor: torch.Tensor, change: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """Returns what `change` makes of a copy on the host, on the tensor's device again."""
    return change(tensor.detach().cpu()).to(tensor.device)


def rewrite(tensor: torch.Tensor, change: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """The same in place."""
    tensor.detach().copy_(change(tensor.detach().cpu()))
    return tensor
