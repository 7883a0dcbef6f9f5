# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Elements by index or by mask, embeddings, losses of classes, and sorting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as nnf

from route_samples.sample import Place, Sample, Tensor, learned, of, real, whole, written

TABLE, SOURCE = real(5, 5), real(5, 5, seed=1)
LINE = torch.tensor([3, 0, 3, 1, 3])
PLACES = whole(5, 5)
BELOW = torch.tensor([-1, 2, -5, 2])


def reduced(how: str, include: bool = True) -> Sample:
    return written(
        lambda x, i, s: x.scatter_reduce_(0, i, s, how, include_self=include), TABLE, PLACES, SOURCE
    )


def refused(function: Callable[..., Any], *operands: Tensor) -> Sample:
    """Returns a sample of a call that raises, at once or where the host waits."""

    def run(place: Place) -> list[Tensor]:
        try:
            function(*map(place, operands)).sum().item()
        except (IndexError, RuntimeError):
            return [place(torch.tensor(1))]
        return [place(torch.tensor(0))]

    return run


INDEX: dict[str, Sample] = {
    "index_select": learned(lambda x, i: x.index_select(1, i), TABLE, fixed=[LINE]),
    "gather": learned(lambda x, i: x.gather(1, i), TABLE, fixed=[PLACES]),
    "take": of(lambda x, i: x.take(i), TABLE, PLACES * 5),
    "one index": learned(lambda x, i: x[i], TABLE, fixed=[BELOW]),
    "two indices": learned(lambda x, i, j: x[i, j], TABLE, fixed=[LINE, LINE.flip(0)]),
    "the second index": of(lambda x, i: x[:, i], real(4, 5), LINE),
    "scatter": written(lambda x, i, s: x.scatter_(1, i, s), TABLE, PLACES.argsort(1), SOURCE),
    "scatter of a number": written(lambda x, i: x.scatter_(1, i, 2.5), TABLE, PLACES[:, :2]),
    "scatter_add": written(lambda x, i, s: x.scatter_add_(0, i, s), TABLE, PLACES, SOURCE),
    "products": reduced("prod"),
    "greatest": reduced("amax"),
    "least": reduced("amin"),
    "means without itself": reduced("mean", include=False),
    "index_add": written(lambda x, i, s: x.index_add_(0, i, s, alpha=2), TABLE, LINE, SOURCE),
    "index_copy": written(lambda x, i, s: x.index_copy_(1, i, s), TABLE,
                          torch.tensor([4, 1, 0, 3, 2]), SOURCE),
    "index_fill": written(lambda x, i: x.index_fill_(0, i, 7), TABLE, LINE),
    "index_put": written(lambda x, i, s: x.index_put_((i,), s), TABLE, BELOW[:2], SOURCE[:2]),
    "index_put that adds": written(lambda x, i, s: x.index_put_((i,), s, accumulate=True), TABLE,
                                   LINE, SOURCE),
    "put that adds": written(lambda x, i, s: x.put_(i, s, accumulate=True), TABLE, LINE * 6,
                             SOURCE[0]),
    "a bad index": refused(lambda x, i: x.index_select(0, i), TABLE, torch.tensor([0, 9])),
    "a bad place": refused(lambda x, i: x.gather(1, i), TABLE, PLACES + 3),
}  # fmt: skip
MASKS: dict[str, Sample] = {
    "masked_fill": learned(lambda x, m: x.masked_fill(m, 2.5), TABLE, fixed=[PLACES > 2]),
    "masked_fill of rows": of(lambda x, m: x.masked_fill(m, -1), TABLE, PLACES[:, :1] > 1),
    "masked_select": of(lambda x, m: x.masked_select(m), TABLE, PLACES > 2),
    "masked_select of rows": of(lambda x, m: x.masked_select(m), TABLE, PLACES[0] > 1),
    "masked_scatter": of(lambda x, m, s: x.masked_scatter(m, s), TABLE, PLACES > 2, SOURCE),
    "mask as index": of(lambda x, m: x[m], TABLE, PLACES > 2),
    "mask of a write": written(lambda x, m: x.__setitem__(m, 3.0), TABLE, PLACES > 2),
    "nonzero": of(torch.nonzero, PLACES),
}
EMBEDDINGS: dict[str, Sample] = {
    "plain": learned(lambda w, i: nnf.embedding(i, w), TABLE, fixed=[PLACES]),
    "padding": learned(lambda w, i: nnf.embedding(i, w, padding_idx=2), TABLE, fixed=[PLACES]),
    "a bad row": refused(lambda w, i: nnf.embedding(i, w), TABLE, LINE + 3),
    "halves": learned(lambda w, i: nnf.embedding(i, w), real(5, 3, dtype=torch.bfloat16),
                      fixed=[LINE]),
}  # fmt: skip
CLASSES: dict[str, Sample] = {
    f"{reduction}, {form}": learned(
        lambda x, t, w, reduction=reduction, form=form: nnf.cross_entropy(
            x, t, w if "weight" in form else None, reduction=reduction,
            ignore_index=2 if "ignored" in form else -100),
        real(6, 5), fixed=[whole(6), torch.tensor([0.5, 2.0, 1.5, 3.0, 0.25])],
    )
    for reduction in ("none", "mean", "sum")
    for form in ("plain", "weight", "ignored and weight")
}  # fmt: skip
CLASSES["large scores"] = learned(nnf.cross_entropy, real(6, 5) * 200, fixed=[whole(6)])
CLASSES["impossible classes"] = learned(
    nnf.cross_entropy, real(6, 5).index_fill(1, torch.tensor([0, 1]), -torch.inf),
    fixed=[whole(6, below=3) + 2],
)  # fmt: skip
CLASSES["a bad class"] = refused(nnf.cross_entropy, real(3, 5), torch.tensor([0, 7, 1]))
CLASSES["images"] = learned(nnf.cross_entropy, real(2, 5, 3, 4), fixed=[whole(2, 3, 4)])
UNEQUAL = torch.randperm(36, generator=torch.Generator().manual_seed(1)).float().reshape(6, 6)
SORTING: dict[str, Sample] = {
    "sort": learned(lambda x: x.sort(1), UNEQUAL),
    "sort downwards": of(lambda x: x.sort(0, descending=True), UNEQUAL),
    "sort with NaN": of(lambda x: x.sort(0), torch.tensor([2.0, torch.nan, -torch.inf, 7, -1])),
    "equal ones stay": of(lambda x: x.sort(dim=0, stable=True), whole(6, 6, below=3)),
    "argsort": of(lambda x: x.argsort(0), UNEQUAL),
    "topk": learned(lambda x: x.topk(2, 1), UNEQUAL),
    "the least": of(lambda x: x.topk(3, 0, largest=False), UNEQUAL),
    "kthvalue": of(lambda x: x.kthvalue(3, 1), UNEQUAL),
    "median": of(lambda x: [*x.median(0), x.median()], UNEQUAL),
    "medians with NaN": of(
        lambda x: [*x.nanmedian(0), *x.median(0)],
        torch.tensor([[2.0, 4], [torch.nan, 1], [7, 9], [-1, -5]]),
    ),
}
FAMILIES = {"index": INDEX, "masks": MASKS, "embeddings": EMBEDDINGS, "classes": CLASSES,
            "sorting": SORTING}  # fmt: skip
