# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Norms of layers, batches and groups, with their gradients."""

from __future__ import annotations

import torch
from torch.nn import functional as nnf

from route_samples.sample import Place, Sample, Tensor, learned, positive, real

IMAGES, WEIGHT, BIAS = real(2, 4, 3, 5), positive(4), real(4, seed=1)


def running(momentum: float, training: bool) -> Sample:
    """Returns a batch norm with what it keeps."""

    def run(place: Place) -> list[Tensor]:
        x, weight, bias = (place(one).requires_grad_() for one in (IMAGES, WEIGHT, BIAS))
        mean, variance = place(real(4, seed=2)), place(positive(4, seed=3))
        made = nnf.batch_norm(x, mean, variance, weight, bias, training, momentum, 1e-2)
        made.backward(place(real(*IMAGES.shape, seed=5)))
        return [made.detach(), mean, variance,
                *(one.grad for one in (x, weight, bias) if one.grad is not None)]  # fmt: skip

    return run


NORMS: dict[str, Sample] = {
    "layer": learned(lambda x, w, b: nnf.layer_norm(x, (5,), w, b, 1e-2), real(4, 5), positive(5),
                     real(5, seed=1)),
    "layer without weight": learned(lambda x: nnf.layer_norm(x, (3, 4)), real(2, 3, 4)),
    "batch": running(0.3, training=True),
    "batch that does not learn": running(0.3, training=False),
    "batch of rows": learned(lambda x: nnf.batch_norm(x, None, None, training=True), real(6, 4)),
    "batch, last channels": learned(
        lambda x: nnf.batch_norm(x, None, None, training=True),
        IMAGES.to(memory_format=torch.channels_last),
    ),
    "group": learned(lambda x, w, b: nnf.group_norm(x, 2, w, b, 1e-2), IMAGES, WEIGHT, BIAS),
    "instance": learned(nnf.instance_norm, IMAGES),
}  # fmt: skip
FAMILIES = {"norms": NORMS}
