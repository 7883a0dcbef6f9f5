# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the bridge makes of pairs of real numbers."""

from __future__ import annotations

from typing import Any

import torch

from route_samples.sample import Sample, of, real, written

Tensor = torch.Tensor


def pairs(*sizes: int, seed: int = 0) -> Tensor:
    return torch.complex(real(*sizes, seed=seed), real(*sizes, seed=seed + 1))


def flags() -> Tensor:
    """Returns numbers of which each kind of parts is 0."""
    return torch.tensor([[0, 0, 2], [1j, 3, 1 + 1j], [0, 2j, 0]], dtype=torch.complex64)


FACTORS: dict[str, Any] = {"beta": 0.5 - 2j, "alpha": 1.5 + 1j}
PAIR_ELEMENTS: dict[str, Sample] = {
    "two": of(lambda x, y: [x * y, x / (y + 3), torch.add(x, y, alpha=2 - 1j), x == y],
              pairs(5, 5), pairs(5, 5, seed=4).t()),
    "alone": of(lambda x: [x.exp(), x.abs(), x.sqrt(), x.isnan()], pairs(4, 3)),
    "in place": written(lambda x, y: x.mul_(y), pairs(5, 5), pairs(5, 5, seed=4).t()),
    "with reals": of(lambda x, y: [x * y, y + 2j, torch.polar(y.abs(), y)], pairs(5, 5),
                     real(5, 1)),
}  # fmt: skip
PAIR_SUMS: dict[str, Sample] = {
    "sums": of(lambda x: [x.sum(0), x.mean(-1), x.sum(dtype=torch.complex128)], pairs(4, 6)),
    "products": of(lambda x: [x.prod(0), x.prod()], pairs(3, 4)),
    "deviations": of(lambda x: [*torch.var_mean(x, 0), *torch.std_mean(x, 1)], pairs(4, 6)),
    "norms": of(
        lambda x: [torch.linalg.vector_norm(x, order, 1) for order in (1, 2, 3.5)],
        pairs(4, 6).tril()),
    "flags": of(lambda x: [x.any(1), x.all(1), x.count_nonzero(0)], flags()),
    "running": of(lambda x: [x.cumsum(0), x.cumprod(1)], pairs(4, 5)),
}  # fmt: skip
PAIR_PRODUCTS: dict[str, Sample] = {
    "mm": of(lambda x, y: [x.mm(y), x.conj().mm(y), x.mm(y.conj())], pairs(3, 4), pairs(4, 5)),
    "addmm": of(lambda x, y, z: torch.addmm(x, y, z, **FACTORS), pairs(5), pairs(3, 4),
                pairs(4, 5)),
    "vdot": of(torch.vdot, pairs(7), pairs(7, seed=3)),
}  # fmt: skip
PAIR_MOVES: dict[str, Sample] = {
    "copies": of(
        lambda x: [x.to(torch.complex128), x.conj().resolve_conj(), x.to(torch.bool)], flags()),
    "flips": of(lambda x: [x.flip(0), x.roll(1, 1)], pairs(3, 4)),
    "triangles": of(lambda x: [x.tril(), x.triu(1)], pairs(4, 5)),
    "nonzero": of(torch.nonzero, flags().flip(0)),
}  # fmt: skip
FAMILIES = {
    "pairs, by element": PAIR_ELEMENTS, "pairs, summed": PAIR_SUMS,
    "pairs, multiplied": PAIR_PRODUCTS, "pairs, moved": PAIR_MOVES,
}  # fmt: skip
