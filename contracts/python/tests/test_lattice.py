# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Which sums of products are said to be exact: those of operators that only add."""

from __future__ import annotations

import warnings

import pytest

pytest.importorskip("torch", reason="the bounds are those of PyTorch's operators")

import torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyTorch tells that it has no hypothesis
    from tbk_contracts.torch.operators import lattice, samples
    from tbk_contracts.torch.operators.entries import Entry, entries


def sample_of(*given: torch.Tensor) -> samples.Sample:
    return samples.Sample(len(given), "", given[0], given[1:], {})


def many(*shape: int) -> torch.Tensor:
    """Returns what is replaced by whole numbers."""
    return torch.ones(shape, dtype=torch.float64)


def entry(title: str) -> Entry:
    return entries()[title]


@pytest.mark.parametrize("title", ["trapz", "trapezoid", "cumulative_trapezoid"])
def test_a_sum_over_differences_of_inputs_is_not_said_to_be_exact(title: str) -> None:
    assert lattice.find(entry(title), sample_of(many(9), many(9)), torch.float64) is None


@pytest.mark.parametrize(("title", "shapes"), [("diff", [(9,)]), ("cross", [(2, 3), (2, 3)])])
def test_what_subtracts_inputs_has_no_bound(title: str, shapes: list[tuple[int, ...]]) -> None:
    given = sample_of(*(many(*shape) for shape in shapes))
    assert lattice.find(entry(title), given, torch.float64) is None


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.complex64])
def test_products_of_matrices_are_exact(dtype: torch.dtype) -> None:
    given = sample_of(many(3, 5).to(dtype), many(5, 2).to(dtype))
    found = lattice.find(entry("mm"), given, dtype)
    assert found is not None
    assert found[1].wide is not None
    for leaf in found[1].wide:
        assert torch.equal(leaf.to(dtype).to(leaf.dtype), leaf)


def test_a_value_above_its_terms_is_no_bound() -> None:
    one, two = torch.tensor([1.0, 2.0]), torch.tensor([1.0, -2.5])
    assert lattice.is_bound([one], [-one])
    assert not lattice.is_bound([one], [two])
