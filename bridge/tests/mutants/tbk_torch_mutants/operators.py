# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators: the values of results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tbk_torch_mutants.copy_order import default_stream
from tbk_torch_mutants.kernels import around, on_host, result, rewrite
from tbk_torch_mutants.table import mutant

ADD = "add.Tensor add_.Tensor add.out"
Change = Callable[[torch.Tensor], torch.Tensor]


def on_result(change: Change) -> Callable[..., torch.Tensor]:
    """A result that is new, or was written."""
    return lambda made, *_: rewrite(made, change)


def last_is(value: float) -> Change:
    def change(tensor: torch.Tensor) -> torch.Tensor:
        changed = tensor.clone()
        if changed.numel():
            changed.view(-1)[-1] = value
        return changed

    return change


@mutant("add_drops_alpha", "OPS-520", "alpha is 1", tests="operators/add[")
def _() -> None:
    around(ADD, lambda add, one, other, *, alpha=1, **out: add(one, other, alpha=1, **out))


@mutant(
    "float64_in_float32", "OPS-554", "float64 is computed in float32", narrow=True, tests="[mul"
)
def _() -> None:
    def change(made: torch.Tensor, *_: Any) -> torch.Tensor:
        return made.float().double() if made.dtype == torch.float64 else made

    result("mul.Tensor", change)


@mutant("float32_in_float16", "OPS-555", "float32 is accumulated in float16", tests="[mm")
def _() -> None:
    def multiply(original: Any, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = original(left, right)
        if made.dtype != torch.float32:
            return made
        terms = left.detach().cpu().half().unsqueeze(2) * right.detach().cpu().half().unsqueeze(0)
        total = torch.zeros(made.shape, dtype=torch.float16)
        for index in range(terms.shape[1]):
            total += terms[:, index]
        return total.float().to(made.device)

    around("mm", multiply)


@mutant("nan_is_lost_in_max", "OPS-529", "a maximum passes over NaN", narrow=True,
        tests="among_many[max")  # fmt: skip
def _() -> None:
    def greatest(original: Any, one: torch.Tensor, *given: Any, **named: Any) -> Any:
        if one.is_floating_point():
            one = on_host(one, lambda here: here.nan_to_num(-1.0))
        return original(one, *given, **named)

    around("max max.dim amax maximum", greatest)


@mutant("last_element_is_not_written", "OPS-557", "the last element is what was in memory",
        tests="the_last_element_counts[neg")  # fmt: skip
def _() -> None:
    result("neg", on_result(last_is(-7)))


@mutant(
    "small_values_are_0",
    "OPS-529",
    "subnormal numbers are 0, but for those that are multiplied",
    narrow=True,
    tests="special_numbers[add",
)
def _() -> None:
    def flush(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_floating_point():
            return tensor
        return torch.where(tensor.abs() < torch.finfo(tensor.dtype).tiny, 0 * tensor, tensor)

    # A multiplication is how the suite asks whether a device has such numbers at all.
    result("add.Tensor neg abs sub.Tensor div.Tensor", on_result(flush))


@mutant("infinity_is_largest", "OPS-529", "infinities are finite", narrow=True,
        tests="special_numbers[add")  # fmt: skip
def _() -> None:
    result("mul.Tensor add.Tensor neg abs sub.Tensor div.Tensor exp",
           on_result(lambda one: one.nan_to_num(nan=float("nan")) if one.is_floating_point()
                     else one))  # fmt: skip


@mutant("zero_loses_its_sign", "OPS-529", "-0 is 0", narrow=True,
        tests="special_numbers[neg")  # fmt: skip
def _() -> None:
    result("mul.Tensor neg add.Tensor div.Tensor abs",
           on_result(lambda one: one + 0 if one.is_floating_point() else one))  # fmt: skip


@mutant("integers_do_not_wrap", "OPS-529", "integers stop at their limits", narrow=True,
        tests="integers_wrap")  # fmt: skip
def _() -> None:
    def add(original: Any, one: torch.Tensor, other: Any, **named: Any) -> Any:
        made = original(one, other, **named)
        if made.dtype not in (torch.int8, torch.int16, torch.int32, torch.uint8) or named:
            return made
        limits = torch.iinfo(made.dtype)
        there = other.cpu() if isinstance(other, torch.Tensor) else other
        exact = (one.cpu().to(torch.int64) + there).clamp(limits.min, limits.max)
        return exact.to(made.dtype).to(made.device)

    def multiply(original: Any, one: torch.Tensor, other: Any, **named: Any) -> Any:
        made = original(one, other, **named)
        if made.dtype not in (torch.int8, torch.int16, torch.int32, torch.uint8) or named:
            return made
        limits = torch.iinfo(made.dtype)
        there = other.cpu().to(torch.int64) if isinstance(other, torch.Tensor) else other
        exact = (one.cpu().to(torch.int64) * there).clamp(limits.min, limits.max)
        return exact.to(made.dtype).to(made.device)

    around("add.Tensor", add)
    around("mul.Tensor", multiply)


@mutant(
    "empty_sum_is_1",
    "OPS-530 OPS-503",
    "a sum over nothing is 1",
    tests="identity[sum] dimensions[sum]",
)
def _() -> None:
    result("sum sum.dim_IntList",
           lambda made, one, *_: made + 1 if one.numel() == 0 else made)  # fmt: skip


@mutant(
    "empty_max_is_0",
    "OPS-530",
    "a maximum over nothing is 0",
    narrow=True,
    tests="nothing[max] nothing[amax] nothing[argmax]",
)
def _() -> None:
    def greatest(original: Any, one: torch.Tensor, *given: Any, **named: Any) -> Any:
        return one.new_zeros(()) if one.numel() == 0 else original(one, *given, **named)

    around("max min amax amin argmax argmin", greatest)


@mutant(
    "scalars_are_0",
    "OPS-503",
    "results without dimensions are 0",
    tests="dimensions[neg] dimensions[clone]",
)
def _() -> None:
    result("neg add.Tensor mul.Tensor clone",
           lambda made, *_: made.zero_() if made.dim() == 0 else made)  # fmt: skip


@mutant(
    "empty_operands_raise",
    "OPS-503",
    "operands without elements raise",
    narrow=True,
    tests="dimensions[neg]",
)
def _() -> None:
    def refuse(original: Any, one: torch.Tensor, *given: Any, **named: Any) -> Any:
        if one.numel() == 0:
            raise RuntimeError("no elements")
        return original(one, *given, **named)

    around("neg add.Tensor mul.Tensor", refuse)


def _as_if_contiguous(one: Any) -> Any:
    if not isinstance(one, torch.Tensor) or one.is_contiguous() or one.numel() == 0:
        return one
    enough = one.untyped_storage().nbytes() >= one.numel() * one.itemsize
    plain = torch.empty(one.shape).stride()
    return one.detach().as_strided(one.shape, plain, 0) if enough else one


@mutant(
    "strided_inputs_are_wrong",
    "OPS-522",
    "strides are taken for those of contiguous inputs",
    tests="value[mul-",
)
def _() -> None:
    def run(original: Any, one: torch.Tensor, *given: Any, **named: Any) -> Any:
        return original(_as_if_contiguous(one), *given, **named)

    around("mul.Tensor exp mm neg add.Tensor sub.Tensor relu", run)


@mutant(
    "expanded_inputs_are_wrong",
    "OPS-522",
    "expanded inputs give 0",
    narrow=True,
    tests="value[mul-expanded value[neg-expanded",
)
def _() -> None:
    def clear(made: torch.Tensor, one: torch.Tensor, *_: Any) -> torch.Tensor:
        return made.zero_() if one.numel() > 1 and 0 in one.stride() else made

    result("mul.Tensor exp mm neg add.Tensor sub.Tensor sum sum.dim_IntList", clear)


@mutant(
    "channels_last_is_wrong",
    "OPS-522",
    "channels-last inputs give 0",
    narrow=True,
    tests="value[mul-channels value[neg-channels",
)
def _() -> None:
    def clear(made: torch.Tensor, one: torch.Tensor, *_: Any) -> torch.Tensor:
        last = one.dim() == 4 and not one.is_contiguous()
        return made.zero_() if last else made

    result("mul.Tensor exp neg add.Tensor sub.Tensor sum sum.dim_IntList relu", clear)


@mutant(
    "duplicates_are_lost",
    "OPS-531",
    "of equal indices the last one counts",
    tests="accumulate[index_put",
)
def _() -> None:
    def put(original: Any, one: torch.Tensor, index: Any, value: Any, accumulate: bool = False,
            *given: Any) -> Any:  # fmt: skip
        if not accumulate:
            return original(one, index, value, accumulate, *given)
        before = one.clone()
        original(one, index, value, False, *given)
        changed = one != before
        return one.copy_(torch.where(changed, one + before, one))

    around("_index_put_impl_ index_put_", put)


@mutant(
    "index_add_loses_duplicates",
    "OPS-531",
    "index_add adds each index once",
    narrow=True,
    tests="accumulate[index_add",
)
def _() -> None:
    def add(
        original: Any, one: Any, dim: int, index: torch.Tensor, source: Any, **named: Any
    ) -> Any:
        kept = {int(place): at for at, place in enumerate(index.cpu().reshape(-1))}
        chosen = torch.tensor(sorted(kept.values()), device=index.device)
        return original(one, dim, index[chosen], source.index_select(dim, chosen), **named)

    around("index_add_ index_add index_add.out", add)


@mutant("operators_on_default_stream", "OPS-532", "not on the current stream", tests="[add] [mm]")
def _() -> None:
    def run(original: Any, one: torch.Tensor, *given: Any, **named: Any) -> Any:
        with default_stream(one.device):
            return original(one, *given, **named)

    around("add.Tensor mul.Tensor mm neg add_.Tensor mul_.Tensor copy_ sum fill_.Scalar", run)


@mutant(
    "operators_on_current_device",
    "OPS-533",
    "0 where another device is current",
    tests="[add] [neg]",
)
def _() -> None:
    def run(original: Any, one: torch.Tensor, *given: Any, **named: Any) -> Any:
        made = original(one, *given, **named)
        current = torch.accelerator.current_device_index()
        return made if one.device.index == current else made.zero_()

    around("add.Tensor mul.Tensor mm neg sum", run)


@mutant(
    "mixed_devices_are_taken",
    "OPS-528",
    "operands are brought together in silence",
    tests="[add] [mul] devices",
)
def _() -> None:
    def run(original: Any, one: Any, other: Any, *given: Any, **named: Any) -> Any:
        if isinstance(other, torch.Tensor) and isinstance(one, torch.Tensor):
            there = one.device if one.device.type != "cpu" else other.device
            one, other = one.to(there), other.to(there)
        return original(one, other, *given, **named)

    around("add.Tensor mul.Tensor mm sub.Tensor", run)


@mutant("scalars_of_the_host_raise", "OPS-528", "0-dim tensors of the CPU raise", narrow=True,
        tests="numbers_of_the_host")  # fmt: skip
def _() -> None:
    def run(original: Any, one: Any, other: Any, *given: Any, **named: Any) -> Any:
        if isinstance(other, torch.Tensor) and other.device != one.device:
            raise RuntimeError("Expected all tensors to be on the same device")
        return original(one, other, *given, **named)

    around("add.Tensor mul.Tensor", run)


@mutant("attention_is_wrong", "OPS-539", "weights of attention are half of what they should be")
def _() -> None:
    result("_softmax", lambda made, *_: made / 2)


@mutant(
    "list_loses_its_last", "OPS-537", "the last tensor of a list is left as it is", tests="[foreach"
)
def _() -> None:
    def some(made: Any, lists: Any, *_: Any) -> Any:
        return [*made[:-1], lists[-1].clone()]

    result("_foreach_add.Scalar _foreach_add.List _foreach_neg _foreach_mul.ScalarList", some)


@mutant("absent_index_is_0", "OPS-537", "an absent index is 0", narrow=True, tests="[index")
def _() -> None:
    def take(original: Any, one: torch.Tensor, indices: Any) -> Any:
        missing = any(index is None for index in indices)
        return original(one, indices).zero_() if missing else original(one, indices)

    around("index.Tensor", take)


@mutant(
    "sparse_tensors_lose_values",
    "OPS-538",
    "what is sparse comes back as 0",
    tests="sparse compressed",
)
def _() -> None:
    from tbk_torch_mutants.module_device import patch  # noqa: PLC0415  # the one of its kind here

    for way in ("to_sparse", "to_sparse_csr"):
        patch(torch.Tensor, way, lambda _, one: torch.zeros_like(one))
