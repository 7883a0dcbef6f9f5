# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Calls operators on a backend that offers them by name, in a process of its own.

Its argument is the library. Prints JSON: of each case whether its values, dtypes and shapes are
those of PyTorch's CPU, and which routes the operators took.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch_tbk

Case = Callable[[torch.device], Any]


def numbers(*sizes: int) -> torch.Tensor:
    return torch.linspace(-2, 3, torch.Size(sizes).numel()).reshape(sizes)


def in_place(x: torch.Tensor) -> torch.Tensor:
    kept = x
    assert torch.exp_(x) is kept
    return x


def out_of(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    assert torch.tanh(x, out=out) is out
    return out


def trained(device: torch.device) -> Any:
    """The gradients of an embedding and of what is made of its rows."""
    weight = numbers(5, 3).to(device).requires_grad_()
    rows = torch.nn.functional.embedding(torch.tensor([[1, 4], [1, 0]], device=device), weight)
    torch.cat([rows.tanh(), rows.exp()], dim=-1).relu().sum().backward()
    return weight.grad


CASES: dict[str, Case] = {
    "function": lambda d: numbers(2, 3).to(d).exp(),
    "in place": lambda d: in_place(numbers(2, 3).to(d)),
    "out": lambda d: out_of(numbers(2, 3).to(d), torch.empty(2, 3, device=d)),
    "out gets its size": lambda d: out_of(numbers(2, 3).to(d), torch.empty(0, device=d)),
    "transposed": lambda d: numbers(2, 3).to(d).t().tanh(),
    "no elements": lambda d: numbers(0, 3).to(d).exp(),
    "one element": lambda d: numbers(1)[0].to(d).exp(),
    "broadcast": lambda d: numbers(2, 3).to(d) / numbers(3).to(d).add(9),
    "number of the host": lambda d: numbers(2, 3).to(d) / 4,
    "made of another overload": lambda d: torch.ops.aten.div.Scalar(numbers(2, 3).to(d), 4),
    "made of another in place": lambda d: torch.ops.aten.div_.Scalar(numbers(2, 3).to(d), 4),
    "optional number": lambda d: numbers(2, 3).to(d).clamp(max=1),
    "both numbers": lambda d: numbers(2, 3).to(d).clamp(-1, 1),
    "list of tensors": lambda d: torch.cat([numbers(2, 3).to(d), numbers(2, 1).to(d)], dim=1),
    "indices": lambda d: torch.nn.functional.embedding(
        torch.tensor([2, 0], device=d), numbers(4, 3).to(d)),
    "two results": lambda d: numbers(7).to(d).sin().topk(3),
    "two results given": lambda d: torch.topk(
        numbers(7).to(d), 2, out=(torch.empty(2, device=d), torch.empty(2, device=d).long())),
    "factory": lambda d: torch.arange(2.0, 11.0, 3.0, device=d),
    "factory with an output": lambda d: torch.arange(1.0, 3.0, 0.5, out=torch.empty(0, device=d)),
    "gradients": trained,
    "refused by dtype": lambda d: numbers(2, 3).double().to(d).exp(),
    "refused by rank": lambda d: numbers(2, 7).to(d).topk(2),
    "another dtype of out": lambda d: torch.exp(
        numbers(2, 3).to(d), out=torch.empty(2, 3, dtype=torch.float64, device=d)),
    "negated view": lambda d: torch._neg_view(numbers(2, 3).to(d)).exp(),
}  # fmt: skip


def flat(value: Any) -> list[torch.Tensor]:
    return [value] if isinstance(value, torch.Tensor) else list(value)


def agree(one: torch.Tensor, other: torch.Tensor) -> bool:
    same = one.dtype == other.dtype and one.shape == other.shape
    return same and torch.allclose(one.cpu().double(), other.double(), rtol=1e-6, atol=0)


def told(device: torch.device, module: Any, case: Case) -> dict[str, Any]:
    module.reset_routes()
    given, expected = flat(case(device)), flat(case(torch.device("cpu")))
    return {
        "agrees": len(given) == len(expected) and all(map(agree, given, expected)),
        "on": sorted({one.device.type for one in given}),
        "routes": {row.operator.removeprefix("aten::"): row.route for row in module.routes()},
    }


def messages(device: torch.device) -> list[str]:
    """What is wrong in the call is PyTorch's to say, also where the backend has the operator."""
    said = []
    for call in (
        lambda d: torch.cat([numbers(2, 3).to(d), numbers(3, 2).to(d)]),
        lambda d: numbers(3).to(d).topk(9),
        lambda d: numbers(3).to(d).expand(2, 3).exp_(),
    ):
        both = []
        for where in (device, torch.device("cpu")):
            try:
                call(where)
            except (RuntimeError, IndexError) as error:
                both.append(type(error).__name__)
        said.append(" ".join(both))
    return said


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module = torch_tbk.load(sys.argv[1])
        device = torch.device(module.backend_name, 0)
        torch.empty(1, device=device)  # opens it: nobody is warned that kernels come before others
    warnings.simplefilter("ignore")
    found = {name: told(device, module, case) for name, case in CASES.items()}
    print(json.dumps({"cases": found, "messages": messages(device)}))


if __name__ == "__main__":
    main()
