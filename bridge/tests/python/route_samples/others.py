# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators that the bridge makes of others, called one after the other."""

from __future__ import annotations

import torch
from torch.nn import functional as nnf

from route_samples.sample import Sample, learned, of, positive, real, whole

SHARES = positive(4, 5).mul(0.1).clamp(0.05, 0.95)
IMAGES = real(2, 4, 5, 6)
SMALL = torch.tensor([0.0, -0.0, 1.0, -1.5, torch.inf, -torch.inf, torch.nan, 3e-45, 1e-39, 1e30])
POOLED, TAKEN = nnf.max_pool2d(IMAGES[:, :, :4], 2, return_indices=True)

GATES: dict[str, Sample] = {
    "glu": learned(lambda x: nnf.glu(x, 1), real(3, 6)),
    "prelu": learned(nnf.prelu, real(2, 3, 4), positive(3)),
    "logsigmoid": learned(nnf.logsigmoid, real(4, 5)),
    "cross entropy of shares": learned(
        lambda x, y, w: [nnf.binary_cross_entropy(x, y, w),
                         nnf.binary_cross_entropy(x, y, reduction="none"),
                         nnf.binary_cross_entropy(x, y, reduction="sum")],
        SHARES, fixed=[SHARES.flip(0), positive(5)]),
    "renorm": of(lambda x: [x.renorm(2, 0, 1.5), x.renorm(1, -1, 3)], real(4, 5)),
}  # fmt: skip
VECTORS: dict[str, Sample] = {
    "cross": learned(lambda x, y: torch.linalg.cross(x, y, dim=1), real(2, 3, 4), real(2, 3, 1)),
    "trace": learned(torch.trace, real(4, 6)),
    "shuffled": of(lambda x: torch.channel_shuffle(x, 2), IMAGES),
    "complex": of(lambda x, y: torch.view_as_real(torch.complex(x, y)), real(3, 4), real(4)),
    "power of a number": of(lambda x: torch.pow(2.5, x), real(3, 4)),
    "equal": of(lambda x, y: torch.tensor([torch.equal(x, y), torch.equal(x, x)]),
                torch.arange(6.0), torch.tensor([0.0, 1, 2, 3, 4, 9])),
    "polynomials": of(
        lambda x, n: [torch.special.chebyshev_polynomial_t(x, n),
                      torch.special.hermite_polynomial_he(x, n),
                      torch.special.laguerre_polynomial_l(x, n),
                      torch.special.legendre_polynomial_p(x, n)],
        real(4, 5), whole(4, 5)),
    "next": of(lambda x, y: [torch.nextafter(x, y).view(torch.int32), torch.nextafter(y, x)],
               SMALL.nan_to_num(7.0), SMALL.nan_to_num(7.0).flip(0)),
    "mantissas": of(torch.frexp, SMALL),
}  # fmt: skip
PATCHES: dict[str, Sample] = {
    "unfold": learned(lambda x: nnf.unfold(x, (2, 3), 2, 1, 2), IMAGES),
    "fold": learned(lambda x: nnf.fold(x, (4, 5), (2, 2), stride=(1, 2)), real(2, 12, 6)),
    "windows": learned(lambda x: x.unfold(1, 3, 2), real(3, 8)),
    "unpool": learned(lambda x, i: nnf.max_unpool2d(x, i, [2, 2]), POOLED, fixed=[TAKEN]),
}
FAMILIES = {"gates": GATES, "vectors": VECTORS, "patches": PATCHES}
