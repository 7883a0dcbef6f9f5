# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Many elements to one, and running reductions."""

from __future__ import annotations

import torch
from torch.nn import functional as nnf

from route_samples.sample import Sample, learned, of, real, whole, written

CUBE = real(3, 4, 5)
TIES = whole(4, 7, below=3).float()
ZEROS = real(4, 4)
ZEROS[0, 1] = ZEROS[1, 0] = ZEROS[1, 2] = ZEROS[3, 3] = 0
NAN = real(3, 6).index_fill(1, torch.tensor([2, 4]), float("nan"))

REDUCTIONS: dict[str, Sample] = {
    "sum": of(lambda x: x.sum(), CUBE),
    "sum of columns": of(lambda x: x.sum(0), CUBE),
    "sum of the last, kept": of(lambda x: x.sum(-1, keepdim=True), CUBE),
    "sum of two": of(lambda x: x.sum((0, -1)), CUBE.transpose(0, 1)),
    "prod of a broadcast": of(lambda x: x[1].expand(3, 4).prod(0), real(4, 4)),
    "sum as double": of(lambda x: x.sum(1, dtype=torch.float64), CUBE),
    "sum of integers": of(lambda x: x.sum(0), whole(4, 3, dtype=torch.int32)),
    "sum of nothing": of(lambda x: [x[:0].sum(0), x[:0].prod(0), x[:0].any(0), x[:0].all(0)],
                         CUBE),
    "mean": learned(lambda x: x.mean((0, 2)), CUBE),
    "mean of halves": of(lambda x: x.mean(0), real(9, 3, dtype=torch.bfloat16)),
    "prod": of(lambda x: [x.prod(), x.prod(0)], CUBE),
    "amax": of(lambda x: [x.amax(0), x.amin((0, 1)), x.amax(-1, keepdim=True)], CUBE),
    "amax with NaN": of(lambda x: [x.amax(1), x.amin(0)], NAN),
    "max": of(lambda x: [*x.max(1), *x.min(0)], TIES),
    "max with NaN": of(lambda x: [*x.max(1), *x.min(1)], NAN),
    "argmax": of(lambda x: [x.argmax(), x.argmin(1), x.argmax(0, keepdim=True)], TIES),
    "any": of(lambda x: [x.any(0), x.all(1), x.any(), x.all()], whole(4, 5, below=3)),
    "count_nonzero": of(lambda x: x.count_nonzero(1), whole(4, 5, below=3)),
    "nansum": of(lambda x: x.nansum(1), NAN),
    "var": of(lambda x: [x.var(1), x.std(0, correction=0), x.var(0, correction=2)], real(5, 6)),
    "var and mean": of(lambda x: torch.var_mean(x, 0), real(5, 6)),
    "logsumexp": of(lambda x: [x.logsumexp(1), (x * 200).logsumexp(0)], CUBE),
    "norm": of(lambda x: [torch.linalg.vector_norm(x, order, 0)
                          for order in (2, 1, 3.5, float("inf"), 0)], CUBE),
    "softmax": learned(lambda x: [x.softmax(1), x.softmax(-1)], CUBE),
    "softmax of impossible ones": of(
        lambda x: x.softmax(0), real(5, 3).index_fill(0, torch.tensor([0, 1]), -torch.inf)),
    "log_softmax": learned(lambda x: x.log_softmax(0), CUBE),
    "mse_loss": learned(nnf.mse_loss, real(4, 5), real(4, 5, seed=1)),
    "smooth_l1_loss": learned(nnf.smooth_l1_loss, real(4, 5), real(4, 5, seed=1)),
    "huber_loss": learned(lambda x, y: nnf.huber_loss(x, y, "sum", 0.7), real(4, 5),
                          real(4, 5, seed=1)),
}  # fmt: skip
ROWS, OTHERS = real(5, 3), real(4, 3, seed=1)
DISTANCES: dict[str, Sample] = {
    f"of order {order}": learned(lambda x, y, p=order: torch.cdist(x, y, p), ROWS, OTHERS)
    for order in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf"))
}
DISTANCES["within one"] = learned(nnf.pdist, ROWS)
DISTANCES["sums within one"] = learned(lambda x: nnf.pdist(x, 1.0), ROWS)
DISTANCES["with NaN"] = of(lambda x, y: [torch.cdist(x, y, 0.0), torch.cdist(x, y, torch.inf)], NAN,
                           real(2, 6))  # fmt: skip
SCANS: dict[str, Sample] = {
    "cumsum": learned(lambda x: x.cumsum(0), real(4, 5)),
    "cumsum of the last": of(lambda x: x.cumsum(-1), real(4, 5).t()),
    "cumsum in place": written(lambda x: x.cumsum_(1), real(4, 5)),
    "cumsum of integers": of(lambda x: x.cumsum(1), whole(3, 6, dtype=torch.int32)),
    "cumprod": learned(lambda x: x.cumprod(1), real(3, 4)),
    "cumprod with zeros": learned(lambda x: x.cumprod(1), ZEROS),
    "cummax": of(lambda x: x.cummax(1), TIES),
    "cummin": of(lambda x: x.cummin(0), TIES),
    "cummax with NaN": of(lambda x: x.cummax(1), NAN),
    "logcumsumexp": of(lambda x: x.logcumsumexp(1), real(3, 5)),
    "logcumsumexp of large ones": of(lambda x: x.logcumsumexp(1), real(3, 5) * 200),
}
FAMILIES = {"reductions": REDUCTIONS, "distances": DISTANCES, "scans": SCANS}
