# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What an operator ought to give, and how far from it a result may be.

The host computes in a type that is wider than the one that is judged, and again with inputs that
differ in their last place: how far that moves a result is its condition. A bound is a number of
units in the last place of the result and a multiple of that movement; there is no other tolerance.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from tbk_contracts.torch import host
from tbk_contracts.torch.operators import table
from tbk_contracts.torch.operators.entries import Entry
from tbk_contracts.torch.operators.samples import Sample, put, tensors

WIDER = {
    torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64,
    torch.float64: torch.float64, torch.complex32: torch.complex128,
    torch.complex64: torch.complex128, torch.complex128: torch.complex128,
}  # fmt: skip
REAL = {torch.complex32: torch.float16, torch.complex64: torch.float32,
        torch.complex128: torch.float64}  # fmt: skip
# Bits of the significand, and the exponent of the smallest normal number as frexp has it.
FORMAT = {torch.float16: (11, -13), torch.bfloat16: (8, -125), torch.float32: (24, -125),
          torch.float64: (53, -1021)}  # fmt: skip
MOVES, MOVES_OF_ONE = 5, 3  # runs with other last places; where one tensor is all there is
Function = Callable[..., Any]
Change = Callable[[Any], Any]


@dataclass
class Expected:
    """The answer for one sample."""

    plain: list[Any]
    """Leaves as PyTorch's CPU gives them in the dtype that is judged: types and shapes, and the
    values of what is exact."""
    wide: list[Any] | None
    """Leaves in the wider type; None where all is exact."""
    moved: list[list[Any]]
    """The wide ones again, for inputs that differ in their last place."""
    arguments: list[torch.Tensor]
    """The tensors among the arguments, as the call leaves them."""
    draws: bool
    """It drew random numbers."""
    dtypes: frozenset[torch.dtype]
    """Those of all tensors that were made on the way, which a device needs too."""
    terms: list[Any] | None = None
    """Class L: the wide leaves for the absolute values of all inputs."""


# They make a tensor of a Python number, which stays on the host.
_NUMBERS = ("aten::lift_fresh", "aten::scalar_tensor")


class _Seen(TorchDispatchMode):
    """Whether an operator that draws random numbers is called, and the dtypes of all results."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.draws = False
        self.dtypes: set[torch.dtype] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.draws |= torch.Tag.nondeterministic_seeded in func.tags
        result = func(*args, **(kwargs or {}))
        if not func.name().startswith(_NUMBERS):
            self.dtypes |= {one.dtype for one in tensors(result)}
        return result


def leaves(value: Any) -> list[Any]:
    """Returns the tensors and numbers of a result, the former without history."""
    return [leaf.detach() if isinstance(leaf, torch.Tensor) else leaf
            for leaf in tree_flatten(value)[0]]  # fmt: skip


def unit(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Returns a unit in the last place of `dtype` at each value, as float64."""
    bits, least = FORMAT[REAL.get(dtype, dtype)]
    exponent = torch.frexp(value.abs().to(torch.float64)).exponent.clamp(min=least)
    return torch.ldexp(torch.ones(exponent.shape, dtype=torch.float64), exponent - bits)


def leeway(dtype: torch.dtype) -> float:
    """Returns how many times its bound a result of `dtype` has to be off to be wrong."""
    return table.LEEWAY.get(REAL.get(dtype, dtype), 1.0)


def _copy(leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor):
        return leaf
    return put(leaf, torch.device("cpu")).requires_grad_(leaf.requires_grad)


def _wide(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor) and leaf.dtype in WIDER:
        return leaf.detach().to(WIDER[leaf.dtype]).requires_grad_(leaf.requires_grad)
    return WIDER.get(leaf, leaf) if isinstance(leaf, torch.dtype) else leaf


def _as_floating(leaf: Any) -> Any:
    """Integers as the floating numbers that they become in an operator whose result is floating."""
    if isinstance(leaf, torch.Tensor) and leaf.dtype not in WIDER:
        return leaf.to(torch.float64)
    return _wide(leaf)


def _mover(widen: Change, number: int, numbers: float) -> Change:
    """Takes one unit in the last place from the values; from all of them, some, the others, every
    other tensor, the others: what is the difference of two moves, wherever they stand. It is
    towards 0, so that none leaves a domain such as that of probabilities. Numbers that are not in
    tensors are rounded by operators too: `numbers` is how much they lose."""
    generator, order = host.seed(1000), itertools.count()

    def move(leaf: Any) -> Any:
        if isinstance(leaf, float):
            return leaf * (1 - numbers * (number != 1))
        wide = widen(leaf)
        if not isinstance(leaf, torch.Tensor) or wide.dtype not in WIDER:
            return wide
        some = torch.randint(0, 2, leaf.shape, generator=generator).to(torch.float64)
        every_other = next(order) % 2
        down = (1.0, some, 1 - some, every_other, 1 - every_other)[number]
        return (wide.detach() * (1 - _step(leaf.dtype) * down)).requires_grad_(leaf.requires_grad)

    return move


def _step(dtype: torch.dtype) -> float:
    """Returns one unit in the last place, relatively; integers become float32."""
    return 2.0 ** (1 - FORMAT.get(REAL.get(dtype, dtype), FORMAT[torch.float32])[0])


def run(function: Function, sample: Sample) -> list[Any]:
    """Returns the leaves of a call on the host, from which the sample is safe."""
    copied = sample.map(_copy)
    return leaves(function(copied.value, *copied.args, **copied.kwargs))


def _in_wide(function: Function, sample: Sample, default: torch.dtype) -> list[Any]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(default)
    try:
        return run(function, sample)
    finally:
        torch.set_default_dtype(before)


def _moved(
    function: Function, sample: Sample, widen: Change, like: list[Any], default: torch.dtype,
    dtype: torch.dtype,
) -> list[Any]:  # fmt: skip
    found = []
    is_double = dtype in (torch.float64, torch.complex128)
    step = _step(torch.float64 if is_double else torch.float32)
    count = sum(is_inexact(widen(leaf)) for leaf in sample.tensors())
    for number in range(MOVES if count > 1 else MOVES_OF_ONE):
        for numbers in (step, 0.0):
            again = _attempt(function, sample.map(_mover(widen, number, numbers)), default)
            if again is not None and _alike(again, like):
                found.append(again)
                break
    return found


def _attempt(function: Function, sample: Sample, default: torch.dtype) -> list[Any] | None:
    try:
        return _in_wide(function, sample, default)
    except (RuntimeError, ValueError, TypeError, IndexError):
        return None


def _absolute(leaf: Any) -> Any:
    """The sum of terms becomes that of their sizes."""
    if isinstance(leaf, torch.Tensor) and leaf.dtype in WIDER:
        return leaf.detach().abs().to(leaf.dtype)
    return abs(leaf) if isinstance(leaf, (float, complex)) else leaf


def _agree(one: list[Any], other: list[Any]) -> bool:
    return _alike(one, other) and all(
        not isinstance(mine, torch.Tensor)
        or torch.allclose(mine, theirs.to(mine.dtype), rtol=1e-12, atol=0, equal_nan=True)
        for mine, theirs in zip(one, other, strict=True)
    )


def _alike(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(
        not isinstance(mine, torch.Tensor) or mine.shape == theirs.shape
        for mine, theirs in zip(one, other, strict=True)
    )


def is_inexact(leaf: Any) -> bool:
    """Returns whether a leaf has rounded values."""
    if isinstance(leaf, torch.Tensor):
        return leaf.is_floating_point() or leaf.is_complex()
    return isinstance(leaf, (float, complex))


def plainly(entry: Entry, sample: Sample) -> Expected | None:
    """Returns the answer in the dtype that is judged alone; None where PyTorch's CPU has none."""
    function: Function = entry.info.op
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copied = sample.map(_copy)
        watch = _Seen()
        torch.manual_seed(0)
        try:
            with watch:
                result = function(copied.value, *copied.args, **copied.kwargs)
        except Exception:  # whatever it is, there is no answer
            return None
        plain = leaves(result)
        dtypes = frozenset(watch.dtypes | {one.dtype for one in tensors(plain)})
        return Expected(plain, None, [], copied.tensors(), watch.draws, dtypes)


def expect(entry: Entry, sample: Sample, dtype: torch.dtype) -> Expected | None:
    """Returns None where PyTorch's CPU has no answer for this sample."""
    made = plainly(entry, sample)
    if made is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if made.draws or entry.kind in (table.Class.EXACT, table.Class.STATISTICS):
            return made
        if not any(is_inexact(leaf) for leaf in made.plain):
            return made
        _widen(entry, sample, dtype, made)
    return made


def in_wide(entry: Entry, sample: Sample, dtype: torch.dtype) -> list[Any] | None:
    """Returns the leaves in the wider type alone; None where there is no answer."""
    return _attempt(entry.info.op, sample.map(_wide), _wide_default(dtype))


def _wide_default(dtype: torch.dtype) -> torch.dtype:
    """Returns what factories make while the wider type of `dtype` is computed."""
    return torch.get_default_dtype() if WIDER.get(dtype) == dtype else torch.float64


def _widen(entry: Entry, sample: Sample, dtype: torch.dtype, made: Expected) -> None:
    function: Function = entry.info.op
    default = _wide_default(dtype)
    made.wide, widen = list(made.plain), _kept  # where the same type is all there is
    if entry.title in table.SAME_TYPE:
        default = torch.get_default_dtype()
    else:
        answer = _attempt(function, sample.map(_wide), default)
        if answer is not None and _alike(made.plain, answer):
            made.wide, widen = answer, _wide
        if dtype not in WIDER:  # integers do not move, so their condition is that of numbers
            answer = _attempt(function, sample.map(_as_floating), default)
            widen = _as_floating if answer is not None and _agree(made.wide, answer) else widen
    if entry.kind is table.Class.LATTICE:
        made.terms = _attempt(function, sample.map(lambda leaf: _absolute(widen(leaf))), default)
    made.moved = _moved(function, sample, widen, made.wide, default, dtype)
    for index in () if entry.is_gradient else table.PHASE.get(entry.title, ()):
        for each in (made.wide, *made.moved):
            each[index] = each[index].abs()


def _kept(leaf: Any) -> Any:
    return leaf
