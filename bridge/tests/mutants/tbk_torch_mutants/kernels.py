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

    def kernel(keys: torch.DispatchKeySet, *arguments: Any, **named: Any) -> Any:
        def original(*arguments: Any, **named: Any) -> Any:
            return before.call_boxed(keys, *arguments, **named)

        return change(original, *arguments, **named)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a kernel is replaced is the point
        _library[0].impl(operator, kernel, key, with_keyset=True, allow_override=True)


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
