# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators: in place, dtypes, outputs that are given, overlaps, the fallback."""

from __future__ import annotations

from typing import Any

import torch

from tbk_torch_mutants.kernels import around, result
from tbk_torch_mutants.module_device import module, patch
from tbk_torch_mutants.table import mutant

IN_PLACE = "mul_.Tensor add_.Tensor fill_.Scalar zero_ copy_ neg_"


def _keep_version(original: Any, one: torch.Tensor, *given: Any, **named: Any) -> Any:
    version = one._version
    made = original(one, *given, **named)
    torch._C._autograd._unsafe_set_version_counter((one,), (version,))
    return made


@mutant("in_place_keeps_version", "OPS-508 OPS-525", "writing in place does not count versions")
def _() -> None:
    around(IN_PLACE, _keep_version, key="ADInplaceOrView")


@mutant(
    "fill_keeps_version", "OPS-508", "one operator in place does not count versions", narrow=True
)
def _() -> None:
    around("fill_.Scalar", _keep_version, key="ADInplaceOrView")


@mutant("in_place_moves", "OPS-525", "in place is in new memory", tests="in_place")
def _() -> None:
    def move(original: Any, one: torch.Tensor, *given: Any, **named: Any) -> Any:
        made = original(one, *given, **named)
        if one.is_contiguous() and one.storage_offset() == 0:
            one.detach().set_(one.clone().untyped_storage(), 0, one.shape, one.stride())
        return made

    around("mul_.Tensor add_.Tensor neg_ exp_ relu_", move)


@mutant("in_place_is_lost", "OPS-525", "in place has no effect", narrow=True)
def _() -> None:
    around("exp_ relu_ neg_ mul_.Tensor", lambda run, one, *given, **named: one)


@mutant(
    "promotion_is_wrong",
    "OPS-521",
    "the result has the first operand's dtype",
    tests="result_type[mul result_type[add",
)
def _() -> None:
    result("mul.Tensor add.Tensor sub.Tensor div.Tensor", lambda made, one, *_: made.to(one.dtype))


@mutant("comparison_is_uint8", "OPS-550", "comparisons give bytes", narrow=True,
        tests="operators/eq[")  # fmt: skip
def _() -> None:
    result("eq.Tensor lt.Tensor eq.Scalar", lambda made, *_: made.to(torch.uint8))


@mutant(
    "scalars_promote",
    "OPS-521",
    "a 0-dim tensor counts as any other",
    narrow=True,
    tests="number scalar 0_dim type",
)
def _() -> None:
    def promote(made: torch.Tensor, one: Any, other: Any, *_: Any) -> torch.Tensor:
        wide = isinstance(other, torch.Tensor) and other.dim() == 0
        return made.to(torch.promote_types(made.dtype, other.dtype)) if wide else made

    result("mul.Tensor add.Tensor sub.Tensor", promote)


OUT = "add.out mul.out sub.out mm.out neg.out exp.out abs.out sum.IntList_out"


@mutant(
    "out_is_not_resized",
    "OPS-523 OPS-540",
    "an output of another shape is left as it is",
    tests="resized",
)
def _() -> None:
    def run(original: Any, *given: Any, out: torch.Tensor, **named: Any) -> Any:
        shape = out.shape
        made = original(*given, out=torch.empty_like(out), **named)
        return original(*given, out=out, **named) if made.shape == shape else out

    around(OUT, run)


@mutant("out_is_elsewhere", "OPS-523", "what is given is not written", tests="[add] [mul]")
def _() -> None:
    def run(original: Any, *given: Any, out: torch.Tensor, **named: Any) -> Any:
        return original(*given, out=out.clone(), **named)

    around(OUT, run)


@mutant("out_takes_any_dtype", "OPS-523 OPS-540", "fractions are lost in silence", narrow=True)
def _() -> None:
    def run(original: Any, *given: Any, out: torch.Tensor, **named: Any) -> Any:
        try:
            return original(*given, out=out, **named)
        except RuntimeError:
            return out

    around(OUT, run)


@mutant("strided_out_is_contiguous", "OPS-524 OPS-540", "a strided output is not written")
def _() -> None:
    def run(original: Any, *given: Any, out: torch.Tensor, **named: Any) -> Any:
        if out.is_contiguous():
            return original(*given, out=out, **named)
        original(*given, out=out.clone(), **named)
        return out

    around(OUT, run)


def _without_raising(original: Any, *given: Any, **named: Any) -> Any:
    try:
        return original(*given, **named)
    except RuntimeError:
        return named.get("out", given[0])


@mutant(
    "own_overlap_is_taken",
    "OPS-526",
    "writing to an expanded tensor has no effect",
    tests="[mul] [fill] [add] overlap",
)
def _() -> None:
    around(f"{IN_PLACE} {OUT} mul.out relu_ exp_", _without_raising)


@mutant("partial_overlap_is_taken", "OPS-527", "an output that overlaps an input has no effect")
def _() -> None:
    around(OUT + " add_.Tensor mul_.Tensor", _without_raising)


@mutant("out_that_is_an_input_is_0", "OPS-527", "an output that is an input is 0", narrow=True)
def _() -> None:
    def run(original: Any, one: Any, *given: Any, out: torch.Tensor, **named: Any) -> Any:
        made = original(one, *given, out=out, **named)
        return made.zero_() if made.data_ptr() == one.data_ptr() else made

    around(OUT, run)


@mutant(
    "fallback_loses_changes",
    "OPS-534",
    "what ran on the host in place is not brought back",
    tests="[index_add] [put] [masked_fill] [scatter]",
)
def _() -> None:
    def run(original: Any, one: torch.Tensor, *given: Any, **named: Any) -> Any:
        original(one.clone(), *given, **named)
        return one

    around("index_add_ index_fill_.int_Scalar masked_fill_.Scalar put_ scatter_.src", run)


@mutant("fallback_loses_changes_of_what_is_read_too", "OPS-534",
        "a tensor that stands for two arguments is not brought back", narrow=True,
        tests="several_arguments[")  # fmt: skip
def _() -> None:
    implement: Any = torch.library.Library.impl

    def impl(self: Any, name: Any, function: Any, key: str = "", **named: Any) -> Any:
        def run(*given: Any) -> Any:
            places = [one.data_ptr() for one in given if isinstance(one, torch.Tensor)]
            if len(set(places)) < len(places):
                given = tuple(one.clone() for one in given)
            return function(*given)

        return implement(self, name, run if key == "CPU" else function, key, **named)

    torch.library.Library.impl = impl  # type: ignore[assignment, method-assign]


@mutant(
    "fallback_results_stay_on_the_host",
    "OPS-534",
    "results stay on the CPU",
    narrow=True,
    tests="come_back[flip] come_back[roll]",
)
def _() -> None:
    result("flip roll gather triu", lambda made, *_: made.cpu())


@mutant(
    "fallback_ignores_generator",
    "OPS-535",
    "what falls back draws from the default generator",
    tests="[cauchy] [geometric] [poisson]",
)
def _() -> None:
    def draw(original: Any, one: torch.Tensor, *given: Any, generator: Any = None) -> Any:
        return original(one, *given, generator=None)

    around("cauchy_ geometric_ log_normal_ poisson exponential_", draw)


@mutant("sums_read_ahead_of_what_they_write", "OPS-527", "a shifted view that lies behind is added",
        narrow=True, tests="part_of_an_input[behind")  # fmt: skip
def _() -> None:
    def add(original: Any, self: torch.Tensor, other: torch.Tensor, **named: Any) -> Any:
        shared = other.untyped_storage().data_ptr() == self.untyped_storage().data_ptr()
        behind = shared and other.storage_offset() > self.storage_offset()
        return original(self, other.clone() if behind else other, **named)

    around("add_.Tensor", add)


@mutant("fallbacks_count_as_native", "OPS-558", "nothing is ever said to fall back")
def _() -> None:
    module().fallbacks = list


@mutant("printing_changes_version", "OPS-542", "printing writes to what it prints")
def _() -> None:
    def show(original: Any, one: torch.Tensor, **named: Any) -> str:
        if one.device.type != "cpu" and not one.requires_grad:
            one.add_(0)
        return str(original(one, **named))

    patch(torch.Tensor, "__repr__", show)


@mutant("printing_hides_the_device", "OPS-542", "printing does not name the device", narrow=True)
def _() -> None:
    def show(original: Any, one: torch.Tensor, **named: Any) -> str:
        return str(original(one, **named)).replace(f", device='{one.device}'", "")

    patch(torch.Tensor, "__repr__", show)


@mutant("own_operator_without_meta", "OPS-541", "an operator of the backend's has no Meta kernel")
def _() -> None:
    library = torch.library.Library("tbk_mutant", "DEF")
    library.define("own(Tensor x) -> Tensor")
    library.impl("own", lambda one: one, "PrivateUse1")
    module()._kept = library
