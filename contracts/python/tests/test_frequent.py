# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that any of the most frequent elements is right for a mode, and no other."""

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
