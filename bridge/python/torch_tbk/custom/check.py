# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What is demanded of an operator of a vendor on a device, each a check that can fail.

A check raises AssertionError, or whatever the operator raises. The oracle is the formula of the
file, in float64 on the host, and PyTorch's own derivatives of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.testing._comparison import default_tolerances

from torch_tbk.custom.register import overload_of, registered
from torch_tbk.custom.samples import LAYOUTS, Values, arguments_of, mapped, widened
from torch_tbk.custom.spec import Operator
from torch_tbk.custom.values import by_formula, made_by_rules, tensors_of

# PyTorch's own check of how autograd is registered knows no other devices.
_ON_HOST_ONLY = "test_autograd_registration"
# A device that computes the formula step by step rounds as the host does, in another order.
_ROUNDINGS = 4
_HOST = torch.device("cpu")


class NothingToCheck(Exception):  # noqa: N818  # it is no error
    """A check does not concern this operator; the text says why."""


class NotAsDemandedError(AssertionError):
    """An operator does not do what is demanded of it; the text says what it does."""


def _demand(holds: bool, says: str) -> None:
    if not holds:
        raise NotAsDemandedError(says)


Check = Callable[[Operator, torch.device], None]


def run(one: Operator, values: Values) -> list[torch.Tensor]:
    """Returns what a call gives: its results, or the arguments that it has written."""
    found = overload_of(one)(**_by_name(one, values))
    if one.written:
        return [values[name] for name in one.written]
    return list(found) if isinstance(found, tuple) else [found]


def _by_name(one: Operator, values: Values) -> Values:
    return {argument.name: values[argument.name] for argument in one.schema.arguments}


@dataclass(frozen=True)
class Expected:
    """What has to come out, and `rounding`: how far the same formula, computed on the host in the
    dtype of the call, is from that at most. A device may round as often.
    """

    right: torch.Tensor
    rounding: float


def expected(one: Operator, values: Values) -> list[Expected]:
    """Returns what the formula gives in float64 on the host, of the dtypes of the call."""
    wide = one.formula(mapped(values, widened))
    listed = list(wide) if isinstance(wide, (list, tuple)) else [wide]
    if one.outputs is not None:  # what a rule says that there is none of, a formula may give
        made = made_by_rules(one, values)
        listed = [found if rule is not None else None
                  for found, rule in zip(listed, made, strict=True)]  # fmt: skip
    return _with_rounding(by_formula(one, values), listed)


def _with_rounding(narrow: list[torch.Tensor], wide: list[torch.Tensor]) -> list[Expected]:
    found = []
    for told, exact in zip(narrow, wide, strict=True):
        right = torch.empty([0], dtype=told.dtype) if exact is None else exact
        distance = (told.detach().to(right.dtype) - right).abs() if _has_rounding(right) else None
        finite = None if distance is None else distance[distance.isfinite()]
        most = float(finite.max()) if finite is not None and finite.numel() else 0.0
        found.append(Expected(right.detach().to(told.dtype), most))
    return found


def _has_rounding(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def cases(one: Operator) -> Iterator[tuple[str, torch.dtype, Values]]:
    """Yields each sample in each dtype, with what it is called."""
    for index, sample in enumerate(one.samples):
        for dtype in one.dtypes:
            said = f"sample {index}, {str(dtype).removeprefix('torch.')}"
            yield said, dtype, arguments_of(one, sample, dtype, seed=index + 1)


def _on(values: Values, device: torch.device) -> Values:
    return mapped(values, lambda tensor: tensor.to(device, copy=True))


def _same(one: Operator, said: str, found: list[torch.Tensor], wanted: list[Expected]) -> None:
    """Compares on the host: shape, dtype, then values, as far as the limits and rounding go."""
    for index, (seen, told) in enumerate(zip(found, wanted, strict=True)):
        what = f"{said}, result {index}" if len(found) > 1 else said
        right = told.right
        _demand(seen.shape == right.shape, f"{what}: {list(seen.shape)}, not {list(right.shape)}")
        _demand(seen.dtype == right.dtype, f"{what}: {seen.dtype}, not {right.dtype}")
        limits = one.tolerance.get(right.dtype) or default_tolerances(right.dtype)
        torch.testing.assert_close(
            seen.detach().cpu(), right, rtol=limits[0],
            atol=limits[1] + _ROUNDINGS * told.rounding, equal_nan=True,
            msg=partial(_told, what),
        )  # fmt: skip


def _told(what: str, text: str) -> str:
    return f"{what}: {text}"


def check_values(one: Operator, device: torch.device) -> None:
    """The results are the formula's; writes are counted; what is not written is as it was."""
    for said, _, values in cases(one):
        there = _on(values, device)
        versions = {name: there[name]._version for name in one.written}
        found = run(one, there)
        for name, before in versions.items():
            _demand(there[name]._version > before, f"{said}: a write of {name} is not counted")
        _same(one, said, found, expected(one, values))
        for name, value in there.items():
            if isinstance(value, torch.Tensor) and name not in one.written:
                same = torch.equal(value.cpu(), values[name])
                _demand(same, f"{said}: {name} was changed, which the schema does not declare")


def check_layouts(one: Operator, device: torch.device) -> None:
    """The same for tensors that are not contiguous."""
    for said, _, values in cases(one):
        for layout, change in LAYOUTS.items():
            there = mapped(_on(values, device), change)
            found = run(one, there)
            _same(one, f"{said}, {layout}", found, expected(one, mapped(values, change)))


def check_shapes(one: Operator, device: torch.device) -> None:
    """What PyTorch knows without computing, sizes, strides and dtypes, is what comes out."""
    if one.written:
        raise NothingToCheck("it makes no tensor")
    for said, _, values in cases(one):
        for layout, change in {"contiguous": torch.Tensor.contiguous, **LAYOUTS}.items():
            there = mapped(_on(values, device), change)
            told = run(one, mapped(there, _on_meta))
            for seen, right in zip(run(one, there), told, strict=True):
                what = (list(seen.shape), seen.stride(), seen.dtype)
                want = (list(right.shape), right.stride(), right.dtype)
                _demand(what == want, f"{said}, {layout}: {what} on the device, {want} on meta")


def _on_meta(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(
        tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta"
    )  # fmt: skip


def check_stream(one: Operator, device: torch.device) -> None:
    """It follows what was enqueued on the current stream before, and comes before what is after."""
    module = torch.get_device_module(device)
    said, _, values = next(cases(one))
    stream = torch.Stream(device)
    for round_number in range(8):
        fresh = mapped(values, partial(_shifted, number=round_number))
        with stream:
            there = mapped(fresh, lambda tensor: tensor.to(device, non_blocking=True))
            found = [result.to("cpu", non_blocking=False) for result in run(one, there)]
        module.synchronize()
        _same(one, f"{said}, stream of its own", found, expected(one, fresh))


def _shifted(tensor: torch.Tensor, number: int) -> torch.Tensor:
    return tensor + number if tensor.is_floating_point() and number else tensor.clone()


def check_served(one: Operator, device: torch.device) -> None:
    """The kernel that the file names computes at least one of the samples."""
    if one.kernel is None:
        raise NothingToCheck("it names no kernel")
    module = torch.get_device_module(device)
    module.reset_routes()
    for _, _, values in cases(one):
        run(one, _on(values, device))
    named = sum(row.count for row in module.routes() if row.operator == one.kernel)
    _demand(
        named, f"the backend has no kernel {one.kernel} of version {one.version}, or refuses all"
    )


def check_gradients(one: Operator, device: torch.device) -> None:
    """The gradients are PyTorch's own of the formula, each alone and all together: those that are
    described, in float64 on the host, then those of the device.
    """
    if one.backward is None:
        raise NothingToCheck("it has no backward")
    for said, dtype, values in cases(one):
        for names in _differentiated(one, values):
            what = f"{said}, gradient of {', '.join(names)}"
            derived = _derived(one, values, names)
            described = _gradients(one, mapped(values, widened), names, _HOST)
            exact = [Expected(grad, 0.0) for grad in derived]
            _same(one, f"{what}, as described", described, exact)
            if dtype.is_floating_point:
                told = _with_rounding(_gradients(one, values, names, _HOST), derived)
                _same(one, what, _gradients(one, values, names, device), told)


def _differentiated(one: Operator, values: Values) -> list[list[str]]:
    """Returns the arguments that have a gradient, each alone, and all if they are several."""
    names = [name for name in one.tensors if name not in one.not_differentiable]
    names = [name for name in names if _is_floating(values[name])]
    return [*([name] for name in names), *([names] if len(names) > 1 else [])]


def _is_floating(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _weights(results: list[torch.Tensor]) -> list[torch.Tensor]:
    """Returns gradients that come in: other ones for each element."""
    made = []
    for index, result in enumerate(results):
        count = torch.arange(1 + index, 1 + index + result.numel(), dtype=torch.float64)
        made.append(torch.cos(count).reshape(result.shape))
    return made


def _gradients(
    one: Operator, values: Values, names: list[str], device: torch.device
) -> list[torch.Tensor]:
    there = _on(values, device)
    for name in names:
        there[name].requires_grad_()
    results = [result for result in run(one, there) if result.requires_grad]
    weights = [weight.to(result) for weight, result in
               zip(_weights(results), results, strict=True)]  # fmt: skip
    return _differentiate(results, [there[name] for name in names], weights)


def _derived(one: Operator, values: Values, names: list[str]) -> list[torch.Tensor]:
    wide = mapped(values, widened)
    for name in names:
        wide[name].requires_grad_()
    found = one.formula(wide)
    results = [result for result in (found if isinstance(found, (list, tuple)) else [found])
               if result is not None and result.requires_grad]  # fmt: skip
    return _differentiate(results, [wide[name] for name in names], _weights(results))


def _differentiate(
    results: list[torch.Tensor], inputs: list[torch.Tensor], weights: list[torch.Tensor]
) -> list[torch.Tensor]:
    return list(
        torch.autograd.grad(results, inputs, weights, allow_unused=True, materialize_grads=True)
    )


def check_second_gradients(one: Operator, device: torch.device) -> None:
    """A second derivative is PyTorch's own of the formula, or raises and says what is missing."""
    if one.backward is None:
        raise NothingToCheck("it has no backward")
    said, _, values = next(cases(one))
    names = _differentiated(one, values)[-1]

    def call(given: Values) -> Any:
        return overload_of(one)(**_by_name(one, given))

    derived = _second(one.formula, mapped(values, widened), names)
    try:
        found = _second(call, _on(values, device), names)
    except NotImplementedError as error:
        other = registered().get(f"{one.namespace}::{one.backward.operator}")
        is_told = other is not None and other.backward is None and other.full_name in str(error)
        _demand(is_told, f"{said}: {error}")
        return
    what = f"{said}, second derivative"
    described = _second(call, mapped(values, widened), names)
    _same(one, f"{what}, as described", described, [Expected(grad, 0.0) for grad in derived])
    _same(one, what, found, _with_rounding(_second(call, _on(values, _HOST), names), derived))


def _second(
    function: Callable[[Values], Any], values: Values, names: list[str]
) -> list[torch.Tensor]:
    inputs = [values[name].requires_grad_() for name in names]
    found = function(values)
    results = [result for result in (found if isinstance(found, (list, tuple)) else [found])
               if result is not None and result.requires_grad]  # fmt: skip
    weights = [weight.to(result) for weight, result in
               zip(_weights(results), results, strict=True)]  # fmt: skip
    first = torch.autograd.grad(
        results, inputs, weights, create_graph=True, allow_unused=True, materialize_grads=True
    )
    with_graph = [grad for grad in first if grad.requires_grad]
    if not with_graph:
        return [torch.zeros_like(one) for one in inputs]
    again = [weight.to(grad) for weight, grad in
             zip(_weights(with_graph), with_graph, strict=True)]  # fmt: skip
    return _differentiate(with_graph, inputs, again)


def check_autocast(one: Operator, device: torch.device) -> None:
    """Under autocast it computes in the dtype that its policy says."""
    if one.autocast is None:
        raise NothingToCheck("it has no policy for autocast")
    lower = torch.bfloat16
    for said, dtype, values in cases(one):
        if dtype not in (torch.float32, torch.bfloat16):
            continue
        wanted = {"lower_precision": lower, "float32": torch.float32}.get(
            one.autocast, torch.promote_types(lower, dtype)
        )
        with torch.autocast(device.type, dtype=lower):
            found = run(one, _on(values, device))
        right = expected(one, mapped(values, partial(_cast, dtype=wanted)))
        _same(one, f"{said}, autocast", found, right)


def _cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    is_cast = tensor.is_floating_point() and tensor.dtype != torch.float64
    return tensor.to(dtype) if is_cast else tensor


def check_opcheck(one: Operator, device: torch.device) -> None:
    """PyTorch's own opcheck: on the device, and how autograd is registered on the host."""
    _, dtype, values = next(cases(one))
    tests = tuple(name for name in _TESTS if name != _ON_HOST_ONLY)
    for place, chosen in ((device, tests), (torch.device("cpu"), (_ON_HOST_ONLY,))):
        there = _on(values, place)
        if not one.written and dtype.is_floating_point and one.backward is not None:
            for tensor in tensors_of(there):
                tensor.requires_grad_(tensor.is_floating_point())
        torch.library.opcheck(overload_of(one), (), _by_name(one, there), test_utils=chosen)


_TESTS = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_dynamic",
)
CHECKS: Mapping[str, Check] = {
    "values": check_values,
    "layouts": check_layouts,
    "shapes": check_shapes,
    "served": check_served,
    "stream": check_stream,
    "gradients": check_gradients,
    "second gradients": check_second_gradients,
    "autocast": check_autocast,
    "opcheck": check_opcheck,
}
