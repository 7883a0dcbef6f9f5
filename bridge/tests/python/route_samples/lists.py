# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Lists of tensors: foreach, optimizers and the scaling of gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from route_samples.sample import Place, Sample, Tensor, as_list, positive, real

SIZES = ((3, 4), (5,), (2, 2))


def each(function: Callable[..., Any], *makers: Callable[..., Tensor]) -> Sample:
    """Returns a sample of a function of lists."""

    def run(place: Place) -> list[Tensor]:
        lists = [[place(make(*sizes, seed=at)) for sizes in SIZES]
                 for at, make in enumerate(makers)]  # fmt: skip
        results = function(*lists)
        return lists[0] if results is None else as_list(results)

    return run


FOREACH: dict[str, Sample] = {
    "add": each(lambda x, y: torch._foreach_add(x, y, alpha=2), real, real),
    "add in place": each(lambda x, y: torch._foreach_add_(x, y, alpha=2), real, real),
    "mul by numbers": each(lambda x: torch._foreach_mul(x, [2.0, 3.0, 4.0]), real),
    "div by numbers": each(lambda x: torch._foreach_div_(x, [2.0, 3.0, 4.0]), real),
    "addcdiv": each(lambda x, y, z: torch._foreach_addcdiv(x, y, z, [1.0, 2.0, 3.0]), real, real,
                    positive),
    "addcmul": each(lambda x, y, z: torch._foreach_addcmul_(x, y, z, 0.5), real, real, real),
    "lerp": each(lambda x, y: torch._foreach_lerp_(x, y, 0.3), real, real),
    "lerp beyond the middle": each(lambda x, y: torch._foreach_lerp(x, y, 0.7), real, real),
    "sqrt": each(torch._foreach_sqrt, positive),
    "norm": each(lambda x: torch._foreach_norm(x, 2), real),
    "clip": each(torch.nn.utils.get_total_norm, real),
}  # fmt: skip


def steps(optimizer: Callable[..., Any], **named: Any) -> Sample:
    """Returns what parameters are after three steps, and what the optimizer keeps."""

    def run(place: Place) -> list[Tensor]:
        parameters = [place(real(*sizes)).requires_grad_() for sizes in SIZES]
        made = optimizer(parameters, **named)
        for step in range(3):
            for one in parameters:
                one.grad = place(real(*one.shape, seed=step + 1))
            made.step()
        kept = [value for state in made.state.values() for value in state.values()]
        return [one.detach() for one in parameters] + [
            one for one in kept if isinstance(one, Tensor) and one.device.type == place.device.type
            and one.dim() > 0
        ]  # fmt: skip

    return run


SETTINGS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "SGD": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.8, "dampening": 0.3, "weight_decay": 0.2}),
    "Nesterov": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.8, "nesterov": True}),
    "Adam": (torch.optim.Adam, {"lr": 0.1, "betas": (0.8, 0.7), "weight_decay": 0.3,
                                "amsgrad": True}),
    "AdamW": (torch.optim.AdamW, {"lr": 0.1, "betas": (0.8, 0.7), "weight_decay": 0.3}),
    "Adagrad": (torch.optim.Adagrad, {"lr": 0.1, "lr_decay": 0.2, "weight_decay": 0.3}),
}  # fmt: skip
OPTIMIZERS: dict[str, Sample] = {
    f"{name}, {form}": steps(optimizer, **settings, **{form: True})
    for name, (optimizer, settings) in SETTINGS.items()
    for form in ("foreach", "fused")
}


def unscaled(bad: float, where: int) -> Sample:
    def run(place: Place) -> list[Tensor]:
        host = [real(*sizes) for sizes in SIZES]
        host[where][-1] = bad
        gradients = [place(one) for one in host]
        found = place(torch.zeros(1))
        torch._amp_foreach_non_finite_check_and_unscale_(
            gradients, found, place(torch.tensor([0.25]))
        )
        return [*gradients, found]

    return run


def updated(found: float, tracker: int) -> Sample:
    def run(place: Place) -> list[Tensor]:
        scale, growth = place(torch.tensor(8.0)), place(torch.tensor(tracker, dtype=torch.int32))
        torch._amp_update_scale_(scale, growth, place(torch.tensor([found])), 3.0, 0.25, 4)
        return [scale, growth]

    return run


SCALING: dict[str, Sample] = {
    "finite": unscaled(1.5, 0),
    "infinite": unscaled(float("inf"), 0),
    "NaN": unscaled(float("nan"), 1),
    "large": unscaled(3e37, 1),
    "infinite in the last": unscaled(-float("inf"), 2),
    "the scale shrinks": updated(1.0, 2),
    "the scale grows": updated(0.0, 3),
    "the scale stays": updated(0.0, 1),
}
FAMILIES = {"foreach": FOREACH, "optimizers": OPTIMIZERS, "scaling": SCALING}
