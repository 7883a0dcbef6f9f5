# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the cases of sweeps name: values at the ends of a dtype, layouts, sizes, where work runs."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import torch

from tbk_contracts.torch import check, host, order
from tbk_contracts.torch.case import DTYPES
from tbk_contracts.torch.operators import subnormal
from tbk_contracts.torch.pairs import Case

Shape = tuple[int, ...]
Result = TypeVar("Result")
BEYOND = (1 << 53) + 1  # an integer that no float64 holds

SIZES: dict[str, Shape] = {
    "none": (2, 0, 3, 2),
    "one": (1, 1, 1, 1),
    "few": (2, 3, 1, 5),
    "thousand": (2, 3, 16, 11),
    "hundred_thousand": (2, 3, 128, 129),
}
LARGEST = "beyond_64_MiB"
"""That is beyond what drivers stage a copy in."""
ALL_SIZES = (*SIZES, LARGEST)

WHOLE = tuple(name for name in DTYPES if "int" in name)
FLOATING = tuple(name for name in DTYPES if "float" in name)


def dtype_of(case: Case, name: str = "dtype") -> torch.dtype:
    found: torch.dtype = getattr(torch, case[name])
    return found


def shape_of(case: Case, dtype: torch.dtype) -> Shape:
    if case["size"] != LARGEST:
        return SIZES[case["size"]]
    return 2, 3, (65 << 20) // (2 * 3 * 1701 * dtype.itemsize) + 1, 1701


Test = TypeVar("Test", bound=Callable[..., None])


def where_it_fits(test: Test) -> Test:
    """A device may have no room for the largest ones; then the test has shown nothing."""

    @functools.wraps(test)
    def run(device: torch.device, case: Case) -> None:
        try:
            test(device, case)
        except torch.OutOfMemoryError:
            if case["size"] != LARGEST:
                raise
            check.should("room for several tensors of 65 MiB", True, expected="", seen="")
            check.evidence(check.NOT_SHOWN, "the device has no room for several tensors of 65 MiB")

    return run  # type: ignore[return-value]  # the same parameters


def edge(dtype: torch.dtype) -> list[float | int | bool]:
    """Values at the ends of a dtype, and what is special in it."""
    if dtype == torch.bool:
        return [False, True]
    if not (dtype.is_floating_point or dtype.is_complex):
        facts = torch.iinfo(dtype)
        wanted = [0, 1, -1, 2, -2, 127, 128, -128, facts.min, facts.min + 1, facts.max,
                  facts.max - 1, BEYOND, -BEYOND]  # fmt: skip
        return [one for one in wanted if facts.min <= one <= facts.max]
    real = torch.finfo(dtype)
    least = real.smallest_normal * real.eps
    positive = [0.0, 0.5, 1.0, 1.5, 2.5, real.max, real.smallest_normal, least, math.inf]
    return [*positive, *(-one for one in positive), math.nan]


def between(dtype: torch.dtype) -> torch.Tensor:
    """Returns numbers that lie half-way between two of a dtype of fewer bits, and beside that."""
    whole = not (dtype.is_floating_point or dtype.is_complex)
    found = []
    for digits in (8, 11, 24, 53):
        near = torch.arange(1, 9).to(torch.int64) + (1 << digits)
        found.append(near if whole else near.double() / (1 << digits))
    made = torch.cat([*found, *(-one for one in found)])
    if whole and dtype != torch.bool:
        facts = torch.iinfo(dtype)
        made = made[(made >= facts.min) & (made <= facts.max)]
        made = made if len(made) else torch.arange(facts.max - 8, facts.max)
    return made.to(dtype)


def values(kind: str, shape: Shape, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """On the host: "ordinary" ones, "small" whole ones, of which sums and products are exact,
    "fractions" that any whole dtype holds without them, those "between" numbers of other dtypes, or
    "extreme" ones, each of which the device has to keep."""
    if kind == "ordinary":
        return host.values(shape, dtype)
    if kind == "small":
        return torch.randint(0, 5, shape, generator=host.seed()).to(dtype)
    if kind == "fractions":
        return (torch.randint(0, 100 * 8, shape, generator=host.seed()) / 8).to(dtype)
    ends = between(dtype) if kind == "between" else torch.tensor(edge(dtype), dtype=dtype)
    if dtype.is_floating_point and not subnormal.kept(device, dtype):
        ends = ends[~subnormal.among(ends)]
    count = math.prod(shape)
    # From another place each time, so that a single element is not always 0.
    turned = ends.roll(int(torch.randint(len(ends), (1,), generator=host.seed())))
    return turned.repeat(count // len(ends) + 1)[:count].reshape(shape)


View = Callable[[torch.Tensor], torch.Tensor]
LAYOUTS = ("whole", "offset", "transposed", "steps", "hole", "channels_last", "expanded")
"""The last one has several elements in one place, and can only be read."""


def base_shape(layout: str, shape: Shape) -> Shape:
    """Returns the shape of what has a view of this layout and `shape`."""
    n, c, h, w = shape
    return {
        "offset": (n * c * h * w + 5,),
        "transposed": (n, c, w, h),
        "steps": (n, c, h, 2 * w),
        "hole": (n, c + 1, h + 1, w + 3),
        "channels_last": (n, h, w, c),
        "expanded": (n, 1, h, w),
    }.get(layout, shape)


def view_of(layout: str, shape: Shape) -> View:
    """Gives the view of a base."""
    n, c, h, w = shape
    views: dict[str, View] = {
        "whole": lambda base: base,
        "offset": lambda base: base[5:].view(shape),
        "transposed": lambda base: base.transpose(2, 3),
        "steps": lambda base: base[..., ::2],
        "hole": lambda base: base[:, 1:, 1:, 1 : 1 + w],
        "channels_last": lambda base: base.permute(0, 3, 1, 2),
        "expanded": lambda base: base.expand(n, c, h, w),
    }
    return views[layout]


PLACES = ("whole", "offset", "transposed", "steps")
"""Layouts that a tensor of any rank can have."""


def laid(made: torch.Tensor, layout: str, device: torch.device) -> torch.Tensor:
    """Returns a copy on the device in one of these, between other numbers."""
    made = made.contiguous()
    if layout == "transposed" and made.dim() > 1:
        return host.upload(made.mT.contiguous(), device).mT
    if layout == "steps" and made.dim() > 0:
        wide = host.values((*made.shape[:-1], 2 * made.shape[-1]), made.dtype)
        wide[..., ::2] = made
        return host.upload(wide, device)[..., ::2]
    if layout == "offset":
        apart = torch.cat([host.values((5,), made.dtype), made.reshape(-1)])
        return host.upload(apart, device)[5:].view(made.shape)
    return host.upload(made, device)


def compare(
    what: str, seen: torch.Tensor, right: torch.Tensor, *, either_zero: bool = False
) -> None:
    """Checks a result of the device; `either_zero`: the sign of a zero is not said."""
    here = host.download(seen)
    if either_zero and (here.is_floating_point() or here.is_complex()):
        here, right = here + 0.0, right + 0.0
    check.tensor(what, here, right.clone())


RANKS = ("4", "0", "1", "2", "6")


def rank_fits(case: Case) -> bool:
    """Returns whether there is a first part to take, and it is as large as the size says."""
    return case.get("size") not in ("none", LARGEST) or case.get("rank", "4") in ("4", "6")


def ranked(view: torch.Tensor, rank: int) -> torch.Tensor:
    """Returns a first part of `view`, of four dimensions, or it with two more of one element."""
    for _ in range(rank, 4):
        view = view[0]
    return view.unsqueeze(2).unsqueeze(0) if rank > 4 else view


class Operand:
    """A view of one layout, on the host and on the device, each with its base."""

    def __init__(
        self, case: Case, device: torch.device, *, name: str = "layout", dtype: str = "dtype"
    ) -> None:
        shape = shape_of(case, dtype_of(case, dtype))
        layout, kind = case.get(name, "whole"), case.get("values", "ordinary")
        self.base = values(kind, base_shape(layout, shape), dtype_of(case, dtype), device)
        self.placed = host.upload(self.base, device)
        whole, rank = view_of(layout, shape), int(case.get("rank", 4))
        self.view: View = lambda base: ranked(whole(base), rank)
        self.here, self.there = self.view(self.base), self.view(self.placed)


@contextmanager
def _work_ahead(device: torch.device) -> Iterator[None]:
    """Something is still at work on the current stream, where the device is asynchronous."""
    work = host.upload(torch.ones(1 << 18), device)
    other = torch.empty_like(work)
    for _ in range(16):
        other.copy_(work)
    yield
    torch.accelerator.synchronize(device)


def place(case: Case, device: torch.device) -> torch.device:
    """Returns the device that the case names; the current one stays as it is."""
    return torch.device(device.type, 1) if case.get("device") == "second" else device


def fail(device: torch.device) -> None:
    """Makes calls that have to be refused: what follows is not to notice."""
    refused: tuple[Callable[[], object], ...] = (
        lambda: torch.ones(2, device=device).add_(torch.ones(3, device=device)),
        lambda: torch.empty(1 << 60, dtype=torch.uint8, device=device),
        lambda: torch.ones(2, device=device).copy_(torch.ones(3)),
    )
    for call in refused:
        with suppress(RuntimeError):
            call()


def where(case: Case, device: torch.device, call: Callable[[], Result]) -> Result:
    """`call` in the thread, on the stream, behind the work and after the errors that the case
    names."""

    def in_place() -> Result:
        if case.get("state") == "after_errors":
            fail(device)
        if case.get("stream") != "other" and case.get("pending") != "work":
            return call()
        stream = (torch.Stream(device) if case.get("stream") == "other"
                  else torch.accelerator.current_stream(device))  # fmt: skip
        torch.accelerator.synchronize(device)
        with order.on(stream):
            if case.get("pending") == "work":
                with _work_ahead(device):
                    result = call()
            else:
                result = call()
        stream.synchronize()
        return result

    return host.in_thread(in_place) if case.get("thread") == "other" else in_place()


def needs(case: Case) -> str:
    """Returns the capabilities without which the case says nothing."""
    words = [f"dtype:{case[name]}" for name in ("dtype", "from", "to") if name in case]
    words += ["stream"] * (case.get("stream") == "other")
    words += ["accelerator"] * (case.get("pending") == "work")
    words += ["pinned"] * (case.get("host") == "pinned")
    words += ["two_devices"] * (case.get("device") == "second")
    return " ".join(dict.fromkeys(words))


def slow(case: Case) -> bool:
    return case.get("size") == LARGEST or case.get("times") == "300"
