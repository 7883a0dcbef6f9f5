# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The checks of a vendor's operators are able to fail.

What the bridge makes of a file is broken in one way after the other, each a mutant. The check that
demands what it breaks has to notice, and passes where nothing is broken.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch_tbk.custom import check, register
from torch_tbk.custom.spec import Operator

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
Patch = Callable[[pytest.MonkeyPatch], None]
Made = Sequence[Tensor | None]

FILE = """
namespace: NAMESPACE
operators:
  - schema: blend(Tensor x, Tensor y) -> Tensor
    formula: x * y * y
    outputs: [{like: x}]
    backward: {operator: blend_backward, arguments: [grad, x, y, needed], gives: [x, y]}
    samples: [{x: [3, 4], y: [3, 4]}]
  - schema: "blend_backward(Tensor grad, Tensor x, Tensor y, bool[] needed) -> (Tensor a, Tensor b)"
    formula: (grad * y * y, 2 * grad * x * y)
    outputs: [{like: x, when: "needed[0]"}, {like: y, when: "needed[1]"}]
    samples: [{grad: [3], x: [3], y: [3], needed: [true, true]}]
  - schema: cube(Tensor x) -> Tensor
    formula: x * x * x
    outputs: [{like: x}]
    backward: {gradients: {x: grad * 3 * x * x}}
    autocast: float32
    dtypes: [float32, bfloat16]
    samples: [{x: [3, 4]}]
  - schema: columns(Tensor x) -> Tensor
    formula: sum(x, 0)
    outputs: [{shape: ["size(x, 1)"], dtype: [x]}]
    samples: [{x: [3, 4]}]
  - schema: shift_(Tensor(a!) x, float by) -> ()
    formula: x + by
    samples: [{x: [3, 4], by: 2.5}]
"""
_namespaces = (f"faulty{number}" for number in itertools.count())


def registered(folder: Path) -> dict[str, Operator]:
    """Returns operators of a namespace of their own, by name."""
    namespace = next(_namespaces)
    file = folder / f"{namespace}.yml"
    file.write_text(FILE.replace("NAMESPACE", namespace))
    return {one.name: one for one in register.register_file(file)}


def around(name: str, change: Callable[..., Any]) -> Patch:
    """Returns what replaces a function by `change`, whose first argument is that function."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        before = getattr(register, name)

        def changed(*given: Any, **named: Any) -> Any:
            return change(before, *given, **named)

        monkeypatch.setattr(register, name, changed)

    return patch


def doubled(gradients: Any, *given: Any) -> dict[str, Tensor]:
    return {name: 2 * one for name, one in gradients(*given).items()}


def cut_off(gradients: Any, *given: Any) -> dict[str, Tensor]:
    return {name: one.detach() for name, one in gradients(*given).items()}


def zero_where_none(gradients: Any, one: Operator, values: dict[str, Any], needs: Any) -> Any:
    if one.backward is not None:
        return gradients(one, values, needs)
    return {name: torch.zeros_like(values["grad_a"]) for name in ("grad", "x", "y")}


def swapped(setup: Any, one: Operator) -> Any:
    made = setup(one)

    def save(ctx: Any, *given: Any, **named: Any) -> None:
        made(ctx, *given, **named)
        ctx.tbk_tensors = ctx.tbk_tensors[::-1]

    return save


def other_mask(gradients: Any, one: Operator, values: dict[str, Any], needs: Any) -> Any:
    """Asks for what is not wanted."""
    other = dict(zip(needs, list(needs.values())[::-1], strict=True))
    found = gradients(one, values, other)
    return {name: found.get(name) for name in needs}


def lost(formula: Any, one: Operator, values: Mapping[str, Any]) -> list[Tensor]:
    return [values[name].clone() for name in one.written] or formula(one, values)


def changed(formula: Any, one: Operator, values: Mapping[str, Any]) -> list[Tensor]:
    found: list[Tensor] = formula(one, values)
    values["x"].add_(1)
    return found


def in_order(formula: Any, one: Operator, values: Mapping[str, Any]) -> list[Tensor]:
    """Reads as if elements stood one after the other."""
    shape = values["x"].shape
    wrong = values["x"].as_strided(shape, torch.empty(shape, device="meta").stride())
    found: list[Tensor] = formula(one, {**values, "x": wrong})
    return found


def not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.autograd.graph, "increment_version", lambda _: None)


def like_the_argument(_: Any, __: Operator, values: Mapping[str, Any]) -> Made:
    return [torch.empty_like(values["x"])]


def wide(rules: Any, *given: Any) -> Made:
    return [None if one is None else one.double() for one in rules(*given)]


@dataclass(frozen=True)
class Fault:
    """What is broken, and which check of which operator demands the contrary."""

    operator: str
    title: str
    patch: Patch


FAULTS = {
    "a gradient is doubled": Fault("cube", "gradients", around("_gradients", doubled)),
    "saved tensors are swapped": Fault("blend", "gradients", around("_setup", swapped)),
    "the mask is turned round": Fault("blend", "gradients", around("_gradients", other_mask)),
    "the graph of a gradient is cut off": Fault(
        "cube", "second gradients", around("_gradients", cut_off)
    ),
    "no derivative counts as 0": Fault(
        "blend", "second gradients", around("_gradients", zero_where_none)
    ),
    "a write is not counted": Fault("shift_", "values", not_counted),
    "what is written is lost": Fault("shift_", "values", around("by_formula", lost)),
    "an argument is written that is not declared": Fault(
        "cube", "values", around("by_formula", changed)
    ),
    "strides are not looked at": Fault("cube", "layouts", around("by_formula", in_order)),
    "a shape is that of the argument": Fault(
        "columns", "shapes", around("made_by_rules", like_the_argument)
    ),
    "a dtype is another one": Fault("cube", "shapes", around("made_by_rules", wide)),
    "the policy of autocast is ignored": Fault(
        "cube", "autocast", around("_autocast_dtype", lambda *_: torch.bfloat16)
    ),
}


@pytest.fixture(scope="module")
def sound(backend: DeviceModule, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Operator]:
    return registered(tmp_path_factory.mktemp("sound"))


@pytest.mark.parametrize("name", FAULTS)
def test_a_check_notices_what_is_broken(
    name: str,
    device: torch.device,
    sound: dict[str, Operator],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fault = FAULTS[name]
    demand = check.CHECKS[fault.title]
    demand(sound[fault.operator], device)
    fault.patch(monkeypatch)
    broken = registered(tmp_path)[fault.operator]
    with pytest.raises((AssertionError, RuntimeError)):
        demand(broken, device)
