# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""One operator twice in turn, with one thing that is different: what a device keeps of a call, such
as a plan, a compiled kernel or a workspace, must not serve another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.extremes import Operand, needs, place, where
from tbk_contracts.torch.pairs import Case, each_case, line

# What is different the other time, and how.
CHANGES: dict[str, dict[str, str]] = {
    "first_strides": {"layout": "transposed"},
    "second_strides": {"second": "channels_last"},
    "both_strides": {"layout": "steps", "second": "steps"},
    "offset": {"layout": "offset"},
    "broadcast": {"second": "expanded"},
    "size": {"size": "few"},
    "dtype": {},  # another one of the same size, see ALIKE
    "number": {"number": "3"},
    "result": {"result": "out_is_first"},
    "result_strides": {"result": "steps"},
    "device": {"device": "second"},
}
ALIKE = {"float32": "int32", "int64": "float64", "float16": "int16", "int8": "uint8"}
PLAIN = {"layout": "whole", "second": "whole", "size": "thousand", "number": "2", "result": "new",
         "device": "first", "values": "small"}  # fmt: skip

Call = Callable[[torch.Tensor, torch.Tensor, int, dict[str, Any]], torch.Tensor]
OPERATORS: dict[str, Call] = {
    "add": lambda one, two, number, out: torch.add(one, two, alpha=number, **out),
    "sub": lambda one, two, number, out: torch.sub(one, two, alpha=number, **out),
    "mul": lambda one, two, _, out: torch.mul(one, two, **out),
    "mul_by_number": lambda one, _, number, out: torch.mul(one, number, **out),
    "where": lambda one, two, number, out: torch.where(one > number, one, two, **out),
    "sum": lambda one, _, number, out: torch.sum(one, number, dtype=one.dtype, **out),
    "matmul": lambda one, two, _, out: torch.matmul(one, two.transpose(-1, -2), **out),
    "copy": lambda one, two, _, __: one.clone().copy_(two),
    "fill": lambda one, _, number, __: one.clone().fill_(number),
}
NUMBERED = ("add", "sub", "mul_by_number", "where", "sum", "fill")
OF_ONE_SHAPE = ("add", "sub", "mul", "mul_by_number", "where")


def _fits(case: Case) -> bool:
    name, change = case.get("name"), case.get("change")
    if change == "number" and name not in (None, *NUMBERED):
        return False
    if change in ("result", "result_strides") and name not in (None, *OF_ONE_SHAPE):
        return False
    if change == "dtype" and case.get("dtype", "float32") not in ALIKE:
        return False
    return not (name == "matmul" and case.get("dtype") == "int8")  # beyond 127


def _words(case: Case) -> str:
    words = needs(case).split()
    words += [f"dtype:{ALIKE[case['dtype']]}"] * (case["change"] == "dtype")
    words += ["two_devices"] * (case["change"] == "device")
    return " ".join(dict.fromkeys(words))


class Variant:
    """One of the two calls, on the host and on the device, with operands of its own."""

    def __init__(self, case: Case, device: torch.device) -> None:
        self.case, self.device = case, place(case, device)
        self.first = Operand(case, self.device)
        self.second = Operand(case, self.device, name="second")

    def _run(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        named: dict[str, Any] = {}
        if self.case["result"] == "out_is_first":
            named = {"out": first}
        elif self.case["result"] == "steps":
            wide = torch.empty((*first.shape[:-1], 2 * first.shape[-1]), dtype=first.dtype)
            named = {"out": wide.to(first.device)[..., ::2]}
        return OPERATORS[self.case["name"]](first, second, int(self.case["number"]), named)

    def check(self, what: str) -> None:
        """Runs it on both: what is written in place differs at each call."""
        given = where(
            self.case, self.device, lambda: self._run(self.first.there, self.second.there)
        )
        expected = self._run(self.first.here, self.second.here)
        check.tensor(what, host.download(given), expected.clone())


@each_case(
    {"name": tuple(OPERATORS), "change": tuple(CHANGES), "dtype": tuple(ALIKE),
     "begins": ("plain", "changed"), "times": ("1", "3"), "stream": ("current", "other")},
    _fits, needs=_words, quick=24,
)  # fmt: skip
@clause("OPS-529")
def test_calls_in_turn(device: torch.device, case: Case) -> None:
    plain = {**case, **PLAIN}
    changed = {**plain, **CHANGES[case["change"]]}
    if case["change"] == "dtype":
        changed["dtype"] = ALIKE[case["dtype"]]
    turns = [Variant(plain, device), Variant(changed, device)]
    if case["begins"] == "changed":
        turns.reverse()
    for turn in range(4):
        for _ in range(int(case["times"])):
            turns[turn % 2].check(f"call {turn + 1} in turn, {line(case)}")
