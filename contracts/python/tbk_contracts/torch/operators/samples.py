# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The inputs of an operator: picked from PyTorch's samples, varied, and taken to a device."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map

from tbk_contracts.torch import host
from tbk_contracts.torch.operators import table
from tbk_contracts.torch.operators.entries import Entry
from tbk_contracts.torch.operators.table import Class

LOOKED_AT = 48
MOST = 6
LARGEST = 1 << 20  # elements


@dataclass(frozen=True)
class Sample:
    """One call's arguments, on the host."""

    number: int
    """Which of the samples that the database gives."""
    variant: str
    """How it was varied: "", "strided", "emptied" or "expanded"."""
    value: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: Callable[[Any], Any] | None = None
    """Takes from the result what gradients are asked of; None: all of it."""

    @property
    def name(self) -> str:
        return f"sample {self.number}{f', {self.variant}' if self.variant else ''}"

    def map(self, change: Callable[[Any], Any], variant: str | None = None) -> Sample:
        """Returns the same with each leaf of the arguments changed."""
        value, args, kwargs = tree_map(change, (self.value, self.args, self.kwargs))
        named = self.variant if variant is None else variant
        return Sample(self.number, named, value, args, kwargs, self.outputs)

    def tensors(self) -> list[torch.Tensor]:
        return tensors((self.value, self.args, self.kwargs))


def tensors(value: Any) -> list[torch.Tensor]:
    """Returns those in a tree, in order."""
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def _is_small(sample: Any) -> bool:
    held = tensors((sample.input, sample.args, sample.kwargs))
    return all(one.numel() <= LARGEST for one in held)


def _shape_of(sample: Sample) -> str:
    """Returns what is special in a sample: one of each kind is wanted."""
    held = sample.tensors()
    if any(one.numel() == 0 for one in held):
        return "empty"
    if held and all(one.dim() == 0 for one in held):
        return "zero-dim"
    return "strided" if any(not one.is_contiguous() for one in held) else ""


def _spread(samples: list[Sample], most: int) -> list[Sample]:
    """`most` of them, evenly: the first ones are often the simplest."""
    if len(samples) <= most:
        return samples
    step = (len(samples) - 1) / max(most - 1, 1)
    return [samples[round(index * step)] for index in range(most)]


def all_of(entry: Entry, dtype: torch.dtype, requires_grad: bool = False) -> Iterator[Sample]:
    """Yields the first ones of the database."""
    found = itertools.islice(entry.samples(dtype, requires_grad), LOOKED_AT)
    for number, one in enumerate(found):
        if _is_small(one):
            yield Sample(number, "", one.input, tuple(one.args), dict(one.kwargs),
                         one.output_process_fn_grad)  # fmt: skip


def picked(
    entry: Entry, dtype: torch.dtype, most: int = MOST, requires_grad: bool = False
) -> list[Sample]:
    """Returns a few: one of each special shape there is, others spread over the rest, and
    variants."""
    everything = list(all_of(entry, dtype, requires_grad))
    special = [next((one for one in everything if _shape_of(one) == kind), None)
               for kind in ("empty", "zero-dim", "strided")]  # fmt: skip
    chosen = {one.number: one for one in special if one is not None}
    rest = [one for one in everything if one.number not in chosen and not _shape_of(one)]
    chosen |= {one.number: one for one in _spread(rest, most - len(chosen))}
    found = [chosen[number] for number in sorted(chosen)]
    if entry.title in table.DISTINCT or (requires_grad and entry.title in table.OF_EQUALS):
        found = [distinct(one) for one in found]
    return found + list(_variants(entry, found))


def saying(
    entry: Entry, dtype: torch.dtype, what: Callable[[Sample], Any], requires_grad: bool = False
) -> Iterator[Sample]:
    """Yields the first one with elements for each thing that `what` tells of a sample."""
    seen = set()
    for sample in all_of(entry, dtype, requires_grad):
        said = what(sample)
        if said and said not in seen and all(one.numel() for one in sample.tensors()):
            seen.add(said)
            yield sample


def _variants(entry: Entry, found: list[Sample]) -> Iterator[Sample]:
    dense = [one for one in found if not _shape_of(one)]
    if not dense or entry.title in table.UNDEFINED | table.BY_STRIDE:
        return
    largest = max(dense, key=lambda one: sum(each.numel() for each in one.tensors()))
    yield largest.map(_strided, "strided")
    if entry.kind in (Class.EXACT, Class.LATTICE, Class.ULP):
        yield largest.map(_emptied, "emptied")
    if type(entry.info).__name__ in ("UnaryUfuncInfo", "BinaryUfuncInfo", "ReductionOpInfo"):
        yield largest.map(_expanded, "expanded")


def _poison(dtype: torch.dtype) -> float | int | bool:
    if dtype.is_floating_point or dtype.is_complex:
        return float("nan")
    return True if dtype == torch.bool else torch.iinfo(dtype).max


def _strided(value: Any) -> Any:
    """Returns every second element of something wider, transposed; what lies between is poison."""
    if not isinstance(value, torch.Tensor) or value.dim() == 0 or value.layout != torch.strided:
        return value
    shape = list(value.shape)[::-1]
    shape[-1] *= 2
    wide = torch.full(shape, _poison(value.dtype), dtype=value.dtype)
    narrow = wide[..., ::2].permute(*range(value.dim() - 1, -1, -1))
    narrow.copy_(value.detach())
    return narrow.requires_grad_(value.requires_grad)


def _emptied(value: Any) -> Any:
    """Without rows; whether that is legal, PyTorch's CPU says."""
    if not isinstance(value, torch.Tensor) or value.dim() == 0 or value.layout != torch.strided:
        return value
    return value.detach()[:0].clone().requires_grad_(value.requires_grad)


def _expanded(value: Any) -> Any:
    """Returns the first row again and again, which has stride 0."""
    if not isinstance(value, torch.Tensor) or value.dim() == 0 or value.layout != torch.strided:
        return value
    return value.detach()[:1].clone().expand(value.shape).requires_grad_(value.requires_grad)


def distinct(sample: Sample) -> Sample:
    """The same with no two equal elements in a tensor, as far as the dtype has enough values."""
    generator = host.seed(sample.number + 1)

    def change(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.dtype in (torch.bool, torch.uint8):
            return value
        if value.is_complex():
            return value
        order = torch.randperm(value.numel(), generator=generator)
        made = _numbers(order, value.dtype).reshape(value.shape)
        return made.requires_grad_(value.requires_grad)

    value, args, kwargs = sample.value, sample.args, sample.kwargs
    changed = tree_map(change, value)
    return Sample(sample.number, sample.variant, changed, args, kwargs, sample.outputs)


def _numbers(order: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """As many different numbers in that order: whole ones; of a narrow dtype, if these are more
    than it holds, any that are normal."""
    count = order.numel()
    if (
        not dtype.is_floating_point
        or dtype.itemsize > 2
        or count // 2 * torch.finfo(dtype).eps <= 2
    ):
        return (order - count // 2).to(dtype)
    every = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(dtype)
    normal = every[every.isfinite() & (every.abs() >= torch.finfo(dtype).smallest_normal)]
    return normal.sort().values[order * len(normal) // count]


def place(sample: Sample, device: torch.device, entry: Entry) -> Sample:
    """Returns a copy of the arguments on `device`, with their strides."""
    stay = torch.device("cpu") if entry.title in table.ONLY_INPUT_MOVES else device
    return Sample(
        sample.number, sample.variant,
        tree_map(lambda leaf: _placed(leaf, device), sample.value),
        tree_map(lambda leaf: _placed(leaf, stay), sample.args),
        tree_map(lambda leaf: _placed(leaf, stay), sample.kwargs),
        sample.outputs,
    )  # fmt: skip


def _placed(leaf: Any, device: torch.device) -> Any:
    if isinstance(leaf, torch.Tensor):
        return put(leaf, device).requires_grad_(leaf.requires_grad)
    if isinstance(leaf, torch.device):
        return device
    return str(device) if isinstance(leaf, str) and leaf == "cpu" else leaf


def put(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Returns a copy on `device` that has the strides of `tensor`, with whatever lies in its
    gaps."""
    tensor = tensor.detach()
    if tensor.is_conj():
        return put(tensor.conj(), device).conj()
    if tensor.is_neg():
        return put(tensor._neg_view(), device)._neg_view()
    if tensor.layout != torch.strided or tensor.is_contiguous():
        return host.upload(tensor, device)
    if tensor.numel() == 0:
        return host.upload(tensor, device).as_strided(tensor.shape, tensor.stride())
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    length = 1 + sum((size - 1) * stride for size, stride in pairs)
    span = tensor.as_strided((length,), (1,), tensor.storage_offset())
    return host.upload(span, device).as_strided(tensor.shape, tensor.stride(), 0)
