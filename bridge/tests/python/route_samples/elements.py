# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Element by element, and what asks where an element is."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional as nnf

from route_samples.sample import Place, Sample, Tensor, learned, of, positive, real, whole, written

NAN = torch.tensor([1.0, float("nan"), -2.0, float("inf"), -float("inf"), 0.0])
ROW, SQUARE, TURNED = real(5, seed=1), real(5, 5), real(5, 5, seed=2).t()


def made(make: Callable[[torch.device], Tensor]) -> Sample:
    """Returns a sample of what is made of no tensor."""

    def run(place: Place) -> list[Tensor]:
        return [make(place.device)]

    return run


POINTWISE: dict[str, Sample] = {
    "add": of(lambda x, y: torch.add(x, y, alpha=3), SQUARE, TURNED),
    "add with a gradient": learned(lambda x, y: x + 2 * y, SQUARE, ROW),
    "sub of a row": of(lambda x, y: torch.sub(x, y, alpha=2), SQUARE, ROW),
    "sub of a column": of(torch.sub, SQUARE, ROW[:, None]),
    "mul in place": written(lambda x, y: x.mul_(y), SQUARE, TURNED),
    "mul into": written(lambda out, x: torch.mul(x, 3, out=out), torch.zeros(5, 5), TURNED),
    "div": learned(torch.div, SQUARE, positive(5, 5)),
    "div to the least": of(lambda x, y: torch.div(x, y, rounding_mode="floor"),
                           real(5, 5, seed=3) * 9, positive(5, 5)),
    "remainder": of(torch.remainder, SQUARE, positive(5, 5)),
    "double": of(lambda x: (x * 1.1).exp(), real(7, dtype=torch.float64)),
    "half": of(lambda x, y: x * y + 1, real(9, dtype=torch.float16), positive(9)),
    "brain": of(lambda x: (x + 0.1).sigmoid(), real(9, dtype=torch.bfloat16)),
    "promotion": of(lambda x, y: x + y, whole(5, 5), ROW),
    "truth": of(lambda x, y: (x > y) ^ (x != 0), whole(5, 5), whole(5, 5, seed=1)),
    "comparisons": of(lambda x, y: [x < y, x <= y, x == y, x >= y, x > y, x != y],
                      whole(6, 6, below=3), whole(6, 6, below=3, seed=1)),
    "where": learned(lambda x, y, c: torch.where(c > 2, x, y), SQUARE, TURNED,
                     fixed=[whole(5, 5)]),
    "clamp": learned(lambda x: x.clamp(-0.5, 0.75), SQUARE),
    "maximum": of(torch.maximum, NAN, NAN.flip(0).roll(2)),
    "minimum": of(torch.minimum, NAN, NAN.flip(0).roll(2)),
    "fmax": of(torch.fmax, NAN, NAN.flip(0).roll(2)),
    "isnan": of(lambda x: [x.isnan(), x.isinf(), x.isfinite()], NAN),
    "nan_to_num": of(lambda x: x.nan_to_num(7, 8, -9), NAN),
    "pow": learned(lambda x: x.pow(2.5), positive(5, 5)),
    "sqrt": learned(lambda x: [x.sqrt(), x.rsqrt(), x.log(), x.exp(), x.tanh()], positive(5, 5)),
    "lerp": of(lambda x, y, w: [x.lerp(y, 0.3), x.lerp(y, w)], SQUARE, TURNED, positive(5, 5)),
    "broadcast of a view": of(lambda x: torch.maximum(x[1].expand(5, 5), x[:, 2:3].expand(5, 5)),
                              SQUARE),
    "addcmul": of(lambda x, y, z: torch.addcmul(x, y, z, value=2), SQUARE, TURNED, ROW),
    "addcdiv": of(lambda x, y, z: torch.addcdiv(x, y, z, value=2), SQUARE, TURNED, positive(5)),
    "activations": learned(lambda x: [nnf.relu(x), nnf.gelu(x), nnf.silu(x), nnf.sigmoid(x),
                                      nnf.leaky_relu(x, 0.2), nnf.elu(x), nnf.hardtanh(x),
                                      nnf.softplus(x), nnf.gelu(x, approximate="tanh")], SQUARE),
    "dtypes": of(lambda x: [x.to(torch.int32), x.half(), x.double(), x.bool()], SQUARE),
    "last channels": of(lambda x: x * 2 + x.exp(),
                        real(2, 3, 4, 5).to(memory_format=torch.channels_last)),
}  # fmt: skip
PLACES: dict[str, Sample] = {
    "arange": made(lambda device: torch.arange(3, 40, 4, device=device)),
    "arange of fractions": made(lambda device: torch.arange(0.5, 9.25, 0.75, device=device)),
    "linspace": made(lambda device: torch.linspace(-3.5, 2, 12, device=device)),
    "linspace of whole numbers": made(
        lambda device: torch.linspace(-7, 90, 13, dtype=torch.int32, device=device)),
    "logspace": made(lambda device: torch.logspace(0, 3, 10, device=device)),
    "logspace of whole numbers": made(
        lambda device: torch.logspace(0, 9, 10, dtype=torch.int64, device=device)),
    "indices of a triangle": made(lambda device: torch.tril_indices(5, 3, -2, device=device)),
    "indices above": made(lambda device: torch.triu_indices(6, 4, 1, device=device)),
    "eye": made(lambda device: torch.eye(4, 6, device=device)),
    "full": made(lambda device: torch.full((3, 4), 2.5, device=device)),
    "tril": of(lambda x: torch.tril(x, 1), SQUARE),
    "triu in place": written(lambda x: x.triu_(-1), SQUARE),
    "flip": of(lambda x: x.flip(0), real(4, 3)),
    "roll": of(lambda x: x.roll(2, 1), real(4, 5)),
    "cat": learned(lambda x, y: torch.cat([x, y.double()], 1), real(3, 4, dtype=torch.float64),
                   real(3, 2)),
    "stack": of(lambda x, y: torch.stack([x, y], 1), SQUARE, TURNED),
}  # fmt: skip
FAMILIES = {"pointwise": POINTWISE, "places": PLACES}
