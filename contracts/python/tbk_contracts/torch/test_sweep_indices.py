# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What reads or writes by indices, over which indices these are: none, the last, negative, twice
the same, more than a few; of which dtype; and along which dimension, counted from either end.
PyTorch's CPU is the oracle."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.extremes import PLACES, compare, dtype_of, laid, needs, place
from tbk_contracts.torch.pairs import Case, each_case, line

Function = Callable[..., torch.Tensor]
INDICES = ("none", "first", "last", "mixed", "twice", "all")
SHAPES = {"few": (3, 5), "many": (70, 67), "one": (1, 1)}
DIMS = (0, 1, -1, -2)


def _whole(x: torch.Tensor, dim: int, at: torch.Tensor) -> torch.Tensor:
    """Returns an index of as many dimensions as `x`, as gather and scatter take them."""
    return at.reshape(_with((1, 1), dim, len(at))).expand(_with(x.shape, dim, len(at)))


# Each takes the tensor, the dimension and indices of it; an index of several dimensions is made.
READ: dict[str, Function] = {
    "index_select": torch.index_select,
    "index": lambda x, dim, at: x[at] if dim in (0, -2) else x[:, at],
    "index twice": lambda x, dim, at: x[at, at] if dim in (0, -2) else x.t()[at, at],
    "take": lambda x, dim, at: x.take(at),
    "gather": lambda x, dim, at: x.gather(dim, _whole(x, dim, at)),
    "take_along_dim": lambda x, dim, at: x.take_along_dim(_whole(x, dim, at), dim),
    "embedding": lambda x, dim, at: torch.nn.functional.embedding(at, x),
}
# Each takes further values, too, and is called as it is or in place.
WRITE: dict[str, Function] = {
    "index_add": lambda x, dim, at, by: x.index_add_(dim, at, by),
    "index_add alpha": lambda x, dim, at, by: x.index_add_(dim, at, by, alpha=-2),
    "index_copy": lambda x, dim, at, by: x.index_copy_(dim, at, by),
    "index_fill": lambda x, dim, at, by: x.index_fill_(dim, at, 3),
    "index_put": lambda x, dim, at, by: _turned(x, dim).index_put_((at,), _turned(by, dim)),
    "index_put to add": lambda x, dim, at, by: (
        _turned(x, dim).index_put_((at,), _turned(by, dim), accumulate=True)),
    "put": lambda x, dim, at, by: x.put_(at, by.reshape(-1)[: len(at)]),
    "put to add": lambda x, dim, at, by: x.put_(at, by.reshape(-1)[: len(at)], accumulate=True),
    "scatter": lambda x, dim, at, by: x.scatter_(dim, _whole(x, dim, at), by),
    "scatter a number": lambda x, dim, at, by: x.scatter_(dim, _whole(x, dim, at), 3),
    "scatter_add": lambda x, dim, at, by: x.scatter_add_(dim, _whole(x, dim, at), by),
    **{f"scatter_reduce {how}{'' if itself else ' alone'}":
       lambda x, dim, at, by, how=how, itself=itself: x.scatter_reduce_(
           dim, _whole(x, dim, at), by, how, include_self=itself)
       for how in ("sum", "prod", "amax", "amin") for itself in (True, False)},
    "new scatter": lambda x, dim, at, by: x.scatter(dim, _whole(x, dim, at), by),
    "new index_add": lambda x, dim, at, by: x.index_add(dim, at, by),
    "new index_put": lambda x, dim, at, by: (
        _turned(x, dim).index_put((at,), _turned(by, dim), accumulate=True)),
    "new scatter_reduce": lambda x, dim, at, by: (
        x.scatter_reduce(dim, _whole(x, dim, at), by, "sum", include_self=False)),
}  # fmt: skip
OF_INT32 = ("index_select", "index", "index twice", "embedding", "index_add", "index_add alpha",
            "new index_add", "index_put", "index_put to add")  # fmt: skip
OF_NEGATIVE = ("index", "index twice", "take", "index_put", "index_put to add", "put",
               "put to add", "new index_put")  # fmt: skip
FLAT = ("take", "put", "put to add")
OF_ROWS = ("embedding",)
# Which of the values stays is not said where a place is written twice.
ONCE = ("index_copy", "index_put", "put", "scatter", "new scatter")
ADDING = tuple(name for name in WRITE if name not in (*ONCE, "index_fill", "scatter a number"))
DTYPES = ("float32", "int64", "int8", "float64", "bool", "complex64")


def _turned(x: torch.Tensor, dim: int) -> torch.Tensor:
    return x if dim in (0, -2) else x.t()


def _fits(case: Case) -> bool:
    name, dtype = case.get("name", "index"), case.get("dtype", "float32")
    if case.get("index_dtype") == "int32" and name not in OF_INT32:
        return False
    return not (name in ADDING and dtype in ("bool", "complex64"))


def _asked(case: Case) -> Iterator[tuple[int, torch.Tensor, str]]:
    """Yields each dimension with each list of indices of it, on the host, and what these are."""
    name, shape = case["name"], SHAPES[case["shape"]]
    for dim, kind in itertools.product((0,) if name in OF_ROWS else DIMS, INDICES):
        if kind == "twice" and name in ONCE:
            continue
        for sign in ("", "negative")[: 2 if name in OF_NEGATIVE else 1]:
            made = _indices(kind, _length(name, shape, dim), bool(sign))
            yield dim, torch.tensor(made, dtype=dtype_of(case, "index_dtype")), f"{kind} {sign}"


def _indices(kind: str, length: int, negative: bool) -> list[int]:
    made = {
        "none": [], "first": [0], "last": [length - 1], "twice": [length - 1, 0, length - 1],
        "mixed": list(dict.fromkeys([length - 1, 0, length // 2])), "all": range(length)[::-1],
    }[kind]  # fmt: skip
    return [one - length for one in made] if negative else list(made)


def _small(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return torch.randint(1, 5, shape, generator=host.seed()).to(dtype)


def _length(name: str, shape: tuple[int, int], dim: int) -> int:
    if name in FLAT:
        return shape[0] * shape[1]
    return min(shape) if name == "index twice" else shape[dim]


SWEPT = {
    "dtype": DTYPES, "index_dtype": ("int64", "int32"), "shape": tuple(SHAPES), "layout": PLACES,
    "device": ("first", "second"),
}  # fmt: skip


@each_case({"name": tuple(READ), **SWEPT}, _fits, needs=needs, quick=6)
@clause("OPS-550")
def test_reads_by_index(device: torch.device, case: Case) -> None:
    device, function = place(case, device), READ[case["name"]]
    here = host.values(SHAPES[case["shape"]], dtype_of(case))
    there = laid(here, case["layout"], device)
    for dim, at, which in _asked(case):
        placed, what = host.upload(at, device), f"{line(case)}, dim {dim}, {which}"
        compare(f"the result, {what}", function(there, dim, placed), function(here, dim, at))
        check.tensor(f"the indices afterwards, {what}", host.download(placed), at)


@each_case({"name": tuple(WRITE), **SWEPT}, _fits, needs=needs, quick=8)
@clause("OPS-550")
def test_writes_by_index(device: torch.device, case: Case) -> None:
    device, name, shape = place(case, device), case["name"], SHAPES[case["shape"]]
    function = WRITE[name]
    for dim, at, which in _asked(case):
        sizes = (len(at), 1) if name in FLAT else _with(shape, dim, len(at))
        here, by = _small(shape, dtype_of(case)), _small(sizes, dtype_of(case))
        there, what = laid(here, case["layout"], device), f"{line(case)}, dim {dim}, {which}"
        given = function(there, dim, host.upload(at, device), host.upload(by, device))
        compare(f"the result, {what}", given, function(here, dim, at, by))
        compare(f"the tensor afterwards, {what}", there, here)


def _with(shape: tuple[int, ...], dim: int, size: int) -> tuple[int, ...]:
    sizes = list(shape)
    sizes[dim] = size
    return tuple(sizes)


# --------------------------------------------------------------------------------- of masks ---

MASKS = ("none", "all", "first", "last", "every_other")
BY_MASK: dict[str, Function] = {
    "masked_select": lambda x, mask: x.masked_select(mask),
    "index": lambda x, mask: x[mask],
    "masked_fill_": lambda x, mask: x.masked_fill_(mask, 1),
    "masked_scatter_": lambda x, mask: x.masked_scatter_(mask, x.flip(0).contiguous()),
    "index_put_": lambda x, mask: x.index_put_((mask,), torch.ones_like(x[0, 0])),
    "where": lambda x, mask: torch.where(mask, x, torch.ones_like(x)),
    "where of no dimension": lambda x, mask: torch.where(mask[0, 0], x, torch.ones_like(x)),
    "nonzero": lambda x, mask: mask.nonzero(),
    "count_nonzero": lambda x, mask: mask.count_nonzero(),
    "argwhere": lambda x, mask: torch.argwhere(mask),
    "any": lambda x, mask: mask.any(),
    "all": lambda x, mask: mask.all(1),
    "sum": lambda x, mask: mask.sum(0),
    "cumsum": lambda x, mask: mask.cumsum(1),
    "not": lambda x, mask: ~mask,
    "amin": lambda x, mask: mask.amin(1),
    "amax": lambda x, mask: mask.amax(0),
    "argmax": lambda x, mask: mask.to(torch.int32).argmax(1),
}


def _mask(kind: str, shape: tuple[int, int]) -> torch.Tensor:
    made = torch.zeros(shape, dtype=torch.bool)
    if kind in ("all", "every_other"):
        made.view(-1)[:: 2 if kind == "every_other" else 1] = True
    elif kind != "none":
        made.view(-1)[0 if kind == "first" else -1] = True
    return made


@each_case(
    {"name": tuple(BY_MASK), "dtype": DTYPES, "shape": tuple(SHAPES), "layout": PLACES,
     "mask_layout": PLACES, "device": ("first", "second")},
    needs=lambda case: f"{needs(case)} dtype:bool", quick=4,
)  # fmt: skip
@clause("OPS-550")
def test_masks(device: torch.device, case: Case) -> None:
    device, function = place(case, device), BY_MASK[case["name"]]
    for kind in MASKS:
        mask = _mask(kind, SHAPES[case["shape"]])
        here = host.values(SHAPES[case["shape"]], dtype_of(case))
        there, placed = laid(here, case["layout"], device), laid(mask, case["mask_layout"], device)
        what = f"{line(case)}, {kind}"
        compare(f"the result, {what}", function(there, placed), function(here, mask))
        compare(f"the tensor afterwards, {what}", there, here)
        check.tensor(f"the mask afterwards, {what}", host.download(placed), mask)
