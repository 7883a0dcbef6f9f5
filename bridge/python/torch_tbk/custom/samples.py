# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Arguments for an operator's checks, made on the host from the samples of its file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from torch_tbk.custom.formula import known
from torch_tbk.custom.spec import Operator

Values = dict[str, Any]


def arguments_of(
    operator: Operator, sample: Mapping[str, Any], dtype: torch.dtype, seed: int
) -> Values:
    """Returns all arguments by name, tensors on the host: floating ones of `dtype` unless the
    sample says another one. Other values for each seed, the same for one.
    """
    generator = torch.Generator().manual_seed(seed)
    made: Values = {}
    for argument in operator.schema.arguments:
        value = sample.get(argument.name, argument.default_value)
        if argument.name in operator.tensors and value is not None:
            value = _tensor(value, dtype, generator)
        elif "Tensor" in str(argument.type) and isinstance(value, list):
            value = [None if one is None else _tensor(one, dtype, generator) for one in value]
        elif "ScalarType" in str(argument.real_type) and isinstance(value, str):
            value = known(value)
        made[argument.name] = value
    return made


def _tensor(told: Any, dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    rule = told if isinstance(told, dict) else {"shape": told}
    wanted: torch.dtype = known(rule["dtype"]) if "dtype" in rule else dtype
    low, high = rule.get("low", -2), rule.get("high", 2)
    if wanted.is_floating_point or wanted.is_complex:
        drawn = torch.rand(rule["shape"], generator=generator, dtype=torch.float64)
        floating: torch.Tensor = (drawn * (high - low) + low).to(wanted)
        return floating
    if wanted == torch.bool:
        low, high = 0, 2
    drawn = torch.randint(int(low), int(high), rule["shape"], generator=generator)
    result: torch.Tensor = drawn.to(wanted)
    return result


def mapped(values: Values, change: Callable[[torch.Tensor], Any]) -> Values:
    """Returns the arguments with each tensor changed, those in lists too."""

    def one(value: Any) -> Any:
        if isinstance(value, list):
            return [one(item) for item in value]
        return change(value) if isinstance(value, torch.Tensor) else value

    return {name: one(value) for name, value in values.items()}


def widened(tensor: torch.Tensor) -> torch.Tensor:
    """Returns floating numbers in float64, others as they are."""
    if tensor.is_complex():
        return tensor.to(torch.complex128)
    return tensor.to(torch.float64) if tensor.is_floating_point() else tensor.clone()


def _transposed(tensor: torch.Tensor) -> torch.Tensor:
    """Returns the same elements, of which the first dimension lies closest together."""
    back = list(reversed(range(tensor.dim())))
    return tensor.permute(back).contiguous().permute(back)


def _spread(tensor: torch.Tensor) -> torch.Tensor:
    """Returns the same elements as every second one of a larger tensor, from the fourth on."""
    if tensor.dim() == 0:
        whole = torch.zeros(7, dtype=tensor.dtype, device=tensor.device)
        whole[3] = tensor
        return whole[3]
    shape = [*tensor.shape[:-1], 2 * tensor.shape[-1] + 3]
    whole = torch.zeros(shape, dtype=tensor.dtype, device=tensor.device)
    view = whole[..., 3::2]
    view.copy_(tensor)
    return view


LAYOUTS: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "transposed": _transposed,
    "every second element": _spread,
}
