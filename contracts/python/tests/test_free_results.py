# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks what is judged by another rule than equality: any of the most frequent elements is right
for a mode, and of bins what rounding cannot move."""

from __future__ import annotations

import warnings

import pytest

pytest.importorskip("torch", reason="results are tensors")

import torch
from tbk_contracts.torch import check

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyTorch tells that it has no hypothesis
    from tbk_contracts.torch.operators import judge, samples

ROWS = torch.tensor([[2, 1, 2, 1, 9], [7, 5, 4, 5, 8]])
MODES = torch.mode(ROWS)


def judged(value: list[int], index: list[int]) -> None:
    got = [torch.tensor(value), torch.tensor(index)]
    sample = samples.Sample(0, "", ROWS, (), {})
    for leaf in (0, 1):
        judge.as_frequent(sample, leaf, got, MODES[leaf])


@pytest.mark.parametrize(("value", "index"), [([1, 5], [3, 1]), ([2, 5], [0, 3])])
def test_any_of_the_most_frequent_is_right(value: list[int], index: list[int]) -> None:
    judged(value, index)


@pytest.mark.parametrize(
    ("value", "index"),
    [([9, 5], [4, 1]), ([3, 5], [0, 1]), ([1, 5], [0, 1]), ([1, 5], [3, 5]), ([1, 5], [-2, 1])],
    ids=["less frequent", "not there", "index of another", "beyond the end", "from the end"],
)
def test_what_is_less_frequent_or_elsewhere_is_wrong(value: list[int], index: list[int]) -> None:
    with pytest.raises(check.ContractFailure):
        judged(value, index)


VALUES = torch.tensor([0.0, 0.25, 0.26, 0.5, 0.74, 1.0])


def binned(counts: list[int]) -> None:
    right = torch.histc(VALUES, 4, 0, 1)
    judge.as_binned(
        samples.Sample(0, "", VALUES, (4, 0, 1), {}), torch.tensor(counts).to(right.dtype), right
    )


@pytest.mark.parametrize("counts", [[1, 2, 2, 1], [2, 1, 2, 1], [1, 3, 1, 1]])
def test_an_element_on_an_edge_is_in_either_bin(counts: list[int]) -> None:
    binned(counts)


@pytest.mark.parametrize("counts", [[1, 2, 1, 2], [1, 2, 2, 0], [1, 2, 2, 2], [0, 3, 2, 1]])
def test_an_element_off_the_edges_is_in_its_bin(counts: list[int]) -> None:
    with pytest.raises(check.ContractFailure):
        binned(counts)
