# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What is counted by bin, summed by bag, compared with a right class, or told apart when sorted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as nnf

from route_samples.indices import refused
from route_samples.sample import Sample, Tensor, learned, of, positive, real, whole

LINE, WEIGHTS = whole(40, below=7), real(40, seed=1)
ODD = torch.tensor([0.0, 1.0, torch.nan, -3.0, 0.25, torch.inf, 1.0, 0.999, 0.5, -torch.inf, 2.0])
SPREAD = real(5, 9)
BINS: dict[str, Sample] = {
    "bincount": of(lambda x: [torch.bincount(x), torch.bincount(x, minlength=9)], LINE),
    "bincount of weights": of(torch.bincount, LINE, WEIGHTS),
    "bincount of double ones": of(torch.bincount, LINE, WEIGHTS.double()),
    "histc": of(lambda x: torch.histc(x, 7), SPREAD),
    "histc of a range": of(lambda x: torch.histc(x, 4, 0, 1), ODD),
    "histc of equals": of(lambda x: torch.histc(x, 5), torch.full((6,), 2.0)),
    "histogram": of(lambda x: torch.histogram(x, 6), SPREAD),
    "histogram of a range": of(lambda x: torch.histogram(x, 4, range=(0.0, 1.0)), ODD),
    "histogram of no range": of(lambda x: torch.histogram(x, 4, range=(1.0, 1.0)), ODD),
    "histogram, density": of(lambda x, w: torch.histogram(x, 6, weight=w, density=True),
                             WEIGHTS, positive(40)),
    "histogram of edges": of(torch.histogram, ODD, torch.tensor([-3.0, 0.0, 0.25, 1.0])),
    "places of values": of(lambda e, x: [torch.bucketize(x, e), torch.bucketize(x, e, right=True),
                                         torch.searchsorted(e, x, side="right")],
                           torch.tensor([-1.0, 0.0, 0.25, 1.0]), ODD),
    "is among": of(lambda x, y: [torch.isin(x, y), torch.isin(x, y, invert=True)], LINE,
                   torch.tensor([2, 5])),
}  # fmt: skip
WORDS, INDICES = real(7, 4), torch.tensor([1, 3, 3, 0, 6, 6, 2, 3, 3])
OFFSETS = torch.tensor([0, 2, 2, 5])  # the second bag is empty


def bag(**options: Any) -> Sample:
    return learned(lambda w, i, o: nnf.embedding_bag(i, w, o, **options), WORDS,
                   fixed=[INDICES, OFFSETS])  # fmt: skip


BAGS: dict[str, Sample] = {
    "sums": bag(mode="sum"),
    "means": bag(mode="mean"),
    "greatest": bag(mode="max"),
    "sums without padding": bag(mode="sum", padding_idx=3),
    "means without padding": bag(mode="mean", padding_idx=3),
    "greatest without padding": bag(mode="max", padding_idx=3),
    "sums with factors": learned(
        lambda w, f, i, o: nnf.embedding_bag(i, w, o, mode="sum", per_sample_weights=f,
                                             padding_idx=3),
        WORDS, real(9), fixed=[INDICES, OFFSETS]),
    "halves": learned(lambda w, i: nnf.embedding_bag(i, w, mode="sum"), real(7, 4).half(),
                      fixed=[INDICES.view(3, 3)]),
}  # fmt: skip
SCORES, CLASSES = real(3, 5), torch.tensor([4, 0, 2])
LABELS = torch.tensor([[3, 0, -1, 1], [-1, 0, 1, 2], [2, 2, 0, -1], [0, 1, 2, 3]])
MARGINS: dict[str, Sample] = {
    "one class": learned(nnf.multi_margin_loss, SCORES, fixed=[CLASSES]),
    "squares": learned(lambda x, y, w: nnf.multi_margin_loss(x, y, 2, 0.5, w, reduction="none"),
                       SCORES, fixed=[CLASSES, positive(5)]),
    "of one sample": learned(lambda x, y: nnf.multi_margin_loss(x, y, reduction="none"), real(5),
                             fixed=[torch.tensor([2])]),
    "impossible scores": learned(
        nnf.multi_margin_loss, real(3, 5).index_fill(1, torch.tensor([1]), -torch.inf),
        fixed=[CLASSES]),
    "a bad class": refused(nnf.multi_margin_loss, SCORES, torch.tensor([4, 0, 7])),
    "several classes": learned(nnf.multilabel_margin_loss, real(4, 4), fixed=[LABELS]),
    "several, each": learned(lambda x, y: nnf.multilabel_margin_loss(x, y, reduction="none"),
                             real(4, 4), fixed=[LABELS]),
}  # fmt: skip
EQUALS, ROWS = whole(5, 8, below=4), whole(7, 2, below=2)


def all_of(function: Callable[..., Any], operand: Tensor, **options: Any) -> Sample:
    return of(lambda x: function(x, return_inverse=True, return_counts=True, **options), operand)


RUNS: dict[str, Sample] = {
    "unique": all_of(torch.unique, EQUALS),
    "unique rows": all_of(torch.unique, ROWS, dim=0),
    "unique consecutive": all_of(torch.unique_consecutive, EQUALS.view(-1).sort().values),
    "unique consecutive rows": all_of(torch.unique_consecutive, ROWS, dim=0),
    "mode": learned(lambda x: x.mode(1), EQUALS.float()),
    "mode of columns": of(lambda x: x.mode(0, keepdim=True), EQUALS),
    "repeated": learned(lambda x, n: x.repeat_interleave(n, 0), real(4, 3),
                        fixed=[torch.tensor([2, 0, 1, 3])]),
    "places set": of(lambda x: torch.nonzero_static(x, size=30, fill_value=-7), EQUALS),
}  # fmt: skip
FAMILIES = {"bins": BINS, "bags": BAGS, "margins": MARGINS, "runs": RUNS}
