# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Hold a row against PyTorch's own operator, for one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from row_evaluate import COMPUTE, REAL, WIDE, NotForThisRow, Values, evaluate
from row_spec import CLASSES, OF_TRUTH, Row

Tensor = torch.Tensor
# PyTorch rounds to half precision between the steps of some operators: units in the last place.
NARROW = {torch.float16: 2, torch.bfloat16: 2}


def operator(row: Row) -> Any:
    """Returns PyTorch's operator of a row."""
    name, _, overload = row.schema.name.partition(".")
    return getattr(getattr(torch.ops.aten, name), overload or "default")


def call(row: Row, arguments: Sequence[Any]) -> Tensor:
    """Returns what PyTorch gives; those that only a name can give go by name."""
    positional, named = [], {}
    for schema, value in zip(operator(row)._schema.arguments, arguments, strict=True):
        if schema.kwarg_only:
            named[schema.name] = value
        else:
            positional.append(value)
    result: Tensor = operator(row)(*positional, **named)
    return result


def takes_output(row: Row, result: torch.dtype, out: torch.dtype) -> bool:
    """Returns whether a row writes a result to an output of that dtype."""
    if row.rule == "compare":
        return True
    is_cast = row.rule in ("promote", "promote_to_float") and "same_output" not in row.flags
    if not is_cast or row.apart & set(row.tensors):
        return out is result
    return torch.can_cast(result, out)


def faults_of_outputs(row: Row, arguments: Sequence[Any], outs: Sequence[torch.dtype]) -> list[str]:
    """Returns which outputs the row takes and PyTorch's CPU does not; raises NotForThisRow."""
    result = evaluate(row, arguments).result
    found = []
    for dtype in outs:
        out = torch.empty(result.shape, dtype=dtype)
        if not takes_output(row, result.dtype, dtype):
            continue
        try:
            call(row, [*arguments[: len(operator(row)._schema.arguments) - 1], out])
        except RuntimeError as error:
            found.append(f"{dtype} for {result.dtype}: {str(error).splitlines()[0]}")
    return found


def widened(arguments: Sequence[Any]) -> list[Any]:
    """Returns the arguments with every real tensor as float64."""
    return [one.double() if isinstance(one, Tensor) and one.dtype in REAL else one
            for one in arguments]  # fmt: skip


def faults(row: Row, arguments: Sequence[Any]) -> list[str]:
    """Returns in which places a row differs from PyTorch's CPU; raises NotForThisRow."""
    got = evaluate(row, arguments)
    try:
        want = call(row, arguments)
    except RuntimeError as error:
        # A kernel that PyTorch's CPU has not says nothing of what it would give.
        if "not implemented for" in str(error) or "ZeroDivisionError" in str(error):
            raise NotForThisRow(str(error)) from error
        return [f"PyTorch refuses what the row serves: {str(error).splitlines()[0]}"]
    if (got.result.dtype, got.result.shape) != (want.dtype, want.shape):
        return [f"{got.result.dtype} of {list(got.result.shape)}, and PyTorch gives "
                f"{want.dtype} of {list(want.shape)}"]  # fmt: skip
    if want.dtype not in REAL:
        return differing(row, arguments, got.result, want, got.result == want)
    close = is_close(row, got, want)
    if not bool(close.all()) and want.dtype is not torch.float64:
        close |= is_close(row, got, truth(row, arguments, want))
    said = row.entry.get("open", ())
    if "cancellation" in said:
        limit = 16 * torch.finfo(want.dtype).eps * largest(arguments, want)
        close |= (got.result.double() - want.double()).abs() <= limit
    if "inexact" in said:
        close |= (got.result.double() - want.double()).abs() <= 1e-11 * want.abs()
    if "float_constants" in said and want.dtype is torch.float64:
        limit = 2 * torch.finfo(torch.float32).eps * want.abs()
        close |= (got.result - want).abs() <= limit
    for word, meant in (("minus_infinity", torch.Tensor.isneginf), ("nan", torch.Tensor.isnan)):
        if word in said:
            close |= anywhere(meant, arguments, want)
    if "overflow" in said:
        close |= apart_from_overflow(arguments, want)
    return differing(row, arguments, got.result, want, close)


def anywhere(what: Callable[[Tensor], Tensor], arguments: Sequence[Any], want: Tensor) -> Tensor:
    """Returns where one of the operands is `what`."""
    found = torch.zeros(want.shape, dtype=torch.bool)
    for one in arguments:
        if isinstance(one, Tensor):
            found |= what(one)
    return found


def largest(arguments: Sequence[Any], want: Tensor) -> Tensor:
    """Returns how large what an operator cancels may be: the product of operands above 1."""
    size = torch.ones(want.shape, dtype=torch.float64)
    for one in arguments:
        if isinstance(one, Tensor):
            size *= torch.where(one.isfinite(), one.double().abs(), 1).clamp(min=1)
    return size


def apart_from_overflow(arguments: Sequence[Any], want: Tensor) -> Tensor:
    """Returns where an operand is so large that a step between could be an infinity."""
    most = torch.finfo(want.dtype).max / 64
    large = torch.zeros(want.shape, dtype=torch.bool)
    for one in arguments:
        if isinstance(one, Tensor):
            large |= (one.double().abs() > most) & one.isfinite()
    return large


def truth(row: Row, arguments: Sequence[Any], want: Tensor) -> Tensor:
    """Returns what PyTorch gives in float64, rounded once to the dtype of the result."""
    try:
        return call(row, widened(arguments)).to(want.dtype)
    except RuntimeError:
        return want


def is_close(row: Row, got: Values, want: Tensor) -> Tensor:
    """Returns where two results are the same as far as the class of the row demands it."""
    info, ulps = torch.finfo(want.dtype), CLASSES[row.numerics] + NARROW.get(want.dtype, 0)
    if row.numerics == "exact":
        ulps = 0
    a, b = got.result.double(), want.double()
    size = b.abs()
    if row.numerics == "terms" and got.terms is not None:
        size = torch.maximum(size, got.terms.double())
    limit = ulps * info.eps * size + (info.tiny if ulps else 0)
    # Just below the largest number one side may round to an infinity.
    huge = info.max * (1 - ulps * info.eps)
    over = (a.sign() == b.sign()) & (a.abs() >= huge) & (b.abs() >= huge)
    close = ((a - b).abs() <= limit) | (a == b) | (a.isnan() & b.isnan()) | (over & (ulps > 0))
    if "zero_sign" in row.entry.get("open", ()):
        return close
    return close & ~((a == 0) & (b == 0) & (a.signbit() != b.signbit()))


def differing(
    row: Row, arguments: Sequence[Any], got: Tensor, want: Tensor, close: Tensor
) -> list[str]:
    """Returns the first places that differ, with the operands there."""
    places = (~close).nonzero()
    said = []
    for place in places[:4].tolist():
        at = [one.expand(want.shape)[tuple(place)].item() if isinstance(one, Tensor) else one
              for one in arguments]  # fmt: skip
        operands = [f"{schema.name}={one}"
                    for schema, one in zip(row.schema.arguments, at, strict=True)]  # fmt: skip
        said.append(f"{row.schema.name}({', '.join(operands)}) in {want.dtype}: "
                    f"{got[tuple(place)].item()}, PyTorch {want[tuple(place)].item()}")  # fmt: skip
    if len(places) > 4:
        said.append(f"... {len(places)} of {want.numel()} places")
    return said


def error_of_formula(row: Row, arguments: Sequence[Any]) -> tuple[float, str]:
    """Returns how far the formula is from itself in float64, in units in the last place."""
    if row.rule in OF_TRUTH:
        return 0, ""
    if "steps" in row.entry.get("open", ()):
        return 0, ""
    arguments = [
        torch.tensor(one, dtype=torch.float32).item() if type(one) is float else one
        for one in arguments
    ]
    narrow, wide = evaluate(row, arguments, COMPUTE), evaluate(row, arguments, WIDE)
    right = wide.result.double()
    size = right.abs()
    if row.numerics == "terms" and wide.terms is not None:
        size = torch.maximum(size, wide.terms.double())
    info = torch.finfo(narrow.result.dtype)
    error = (narrow.result.double() - right).abs() / (info.eps * size.clamp(min=info.tiny))
    # What is subnormal may be taken as zero; what is nearly infinite may be infinite.
    usable = right.isfinite() & (right.abs() < info.max / 4) & narrow.result.isfinite()
    usable &= ~narrow.subnormal & ((right == 0) | (right.abs() > 64 * info.tiny))
    error = torch.where(usable, error, 0)
    if error.numel() == 0:
        return 0, ""
    worst = int(error.argmax())
    values = [one.expand(error.shape).flatten()[worst].item() if isinstance(one, Tensor) else one
              for one in arguments]  # fmt: skip
    return float(error.max()), str(values)
