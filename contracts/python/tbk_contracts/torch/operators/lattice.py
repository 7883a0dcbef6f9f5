# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sums of products of whole numbers, so small that every partial sum can be held by the dtype.

Then all orders of adding give the same, and nothing may be off: an element that is left out, a sum
that is kept in fewer bits, a factor that was cut to another format are seen at once.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.operators import holding, judge, oracle, samples, table, trial
from tbk_contracts.torch.operators.entries import Entry

MOST_BITS = {53: 40, 24: 13, 11: 6, 8: 4}  # of an element, by the bits of the dtype
BITS_OF_SMALL = 4
SIGNS = 4  # ways to give an input signs, of which the first is in turn
ROUNDED = 2.0**-40


def whole(
    shape: tuple[int, ...], bits: int, generator: torch.Generator, dtype: torch.dtype
) -> torch.Tensor:
    """Odd numbers of either sign below 2**bits."""
    if dtype.is_complex:
        parts = whole((*shape, 2), bits, generator, torch.float64)
        return torch.view_as_complex(parts).to(dtype)
    top = 1 << (bits - 1)
    return (2 * torch.randint(-top, top, shape, generator=generator) + 1).to(dtype)


def _on_lattice(sample: samples.Sample, bits: int) -> samples.Sample:
    generator = host.seed(sample.number + 77)

    def change(leaf: Any) -> Any:
        if isinstance(leaf, float):
            return float(max(1, round(abs(leaf))))
        if isinstance(leaf, complex):
            return complex(round(leaf.real), round(leaf.imag))
        if not isinstance(leaf, torch.Tensor) or leaf.dtype not in oracle.WIDER:
            return leaf
        return whole(tuple(leaf.shape), bits, generator, leaf.dtype)

    return sample.map(change, f"{sample.variant or 'values'} of {bits} bits")


def _fits(terms: list[Any], bits: int) -> bool:
    """No partial sum needs more bits; half units are allowed for."""
    return all(
        not isinstance(leaf, torch.Tensor) or leaf.numel() == 0
        or float(leaf.abs().max()) < 2.0 ** (bits - 1)
        for leaf in terms
    )  # fmt: skip


def _signed(sample: samples.Sample, number: int) -> samples.Sample:
    """The same with other signs, in turn or drawn: neighbours that are subtracted add then."""
    generator = host.seed(sample.number + 500 + number)

    def change(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or leaf.dtype not in oracle.WIDER:
            return leaf
        places = torch.arange(leaf.numel()).reshape(leaf.shape)
        drawn = torch.randint(0, 2, leaf.shape, generator=generator)
        signs = 1 - 2 * (drawn if number else places % 2)
        return (leaf * signs).to(leaf.dtype)

    return sample.map(change)


def is_bound(terms: list[Any], wide: list[Any]) -> bool:
    """Returns whether no value is larger than its terms, as one is where inputs are subtracted.
    The size of a complex number is rounded."""
    return all(
        not isinstance(most, torch.Tensor)
        or bool((value.abs() <= most.abs() * (1 + ROUNDED)).all())
        for most, value in zip(terms, wide, strict=True)
    )


_adds: dict[tuple[str, int, str], bool] = {}


def adds(
    entry: Entry, sample: samples.Sample, dtype: torch.dtype, expected: oracle.Expected
) -> bool:
    """Returns whether the operator only adds, so that what it gives for the sizes of its inputs
    bounds what it gives for any signs of theirs. It is asked once for all dtypes."""
    terms, wide = expected.terms or [], expected.wide or []
    key = entry.title, sample.number, sample.variant.partition(" of ")[0]
    if key not in _adds:
        others = (oracle.in_wide(entry, _signed(sample, number), dtype) for number in range(SIGNS))
        _adds[key] = all(other is not None and is_bound(terms, other) for other in others)
    return _adds[key] and is_bound(terms, wide)


def find(
    entry: Entry, sample: samples.Sample, dtype: torch.dtype
) -> tuple[samples.Sample, oracle.Expected] | None:
    """Returns the sample with as many bits as fit, and what is exactly right; None where nothing
    fits, and where nobody knows what does: the operator does not only add."""
    held = oracle.FORMAT[oracle.REAL.get(dtype, dtype)][0]
    most = BITS_OF_SMALL if entry.title in table.SMALL_LATTICE else MOST_BITS[held]
    for bits in range(most, 0, -1):
        trial_sample = _on_lattice(sample, bits)
        expected = oracle.expect(entry, trial_sample, dtype)
        if expected is None or expected.wide is None or expected.terms is None:
            return None
        if not _fits([*expected.terms, *expected.wide], held):
            continue
        return (trial_sample, expected) if adds(entry, trial_sample, dtype, expected) else None
    return None


def try_lattice(entry: Entry, dtype: torch.dtype, device: torch.device) -> None:
    """Judges the samples of an entry of class L that can be made exact."""
    shown, left = 0, holding.LeftOut(device)
    chosen = samples.picked(entry, dtype)
    for index, sample in enumerate(chosen):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = find(entry, sample, dtype)
        if found is None or left.takes(*found):
            continue
        placed = samples.place(found[0], device, entry)
        trial.poison(found[1], device)
        waiting = len(chosen) - index
        got = trial.offered(entry, entry, placed, found[1], dtype, device, waiting)
        if got is None:
            return
        shown += _judge(got, found[1])
    left.tell(shown, "no sample of this dtype can be made exact")


def _judge(got: list[Any], expected: oracle.Expected) -> int:
    seen = [judge.signature(leaf) for leaf in got]
    wanted = [judge.signature(leaf) for leaf in expected.plain]
    check.equal("types and shapes of the results", seen, wanted)
    judged = 0
    for mine, wide in zip(got, expected.wide or [], strict=True):
        if not isinstance(mine, torch.Tensor):
            continue
        exact = wide.to(mine.dtype)
        # A mean is a quotient, which the dtype may not hold.
        held = exact.to(wide.dtype) == wide
        given = host.download(mine)
        check.tensor("exact sums", given[held] + 0.0, exact[held] + 0.0)
        judged += int(held.sum())
    return judged
