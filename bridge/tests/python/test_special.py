# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Bessel's functions, erfc's kin and polygamma: programs of many steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
special = torch.special
# Where PyTorch's own double precision has 7 digits, ours has 13.
LOOSE = 3e-7
ALL: dict[str, tuple[Callable[[Tensor], Tensor], float]] = {
    "i0": (torch.i0, 1e-12), "i0e": (special.i0e, 1e-12),
    "i1": (special.i1, 1e-12), "i1e": (special.i1e, 1e-12),
    "modified i0": (special.modified_bessel_i0, 1e-12),
    "modified i1": (special.modified_bessel_i1, 1e-12),
    "modified k0": (special.modified_bessel_k0, 1e-12),
    "modified k1": (special.modified_bessel_k1, 1e-12),
    "scaled k0": (special.scaled_modified_bessel_k0, 1e-12),
    "scaled k1": (special.scaled_modified_bessel_k1, 1e-12),
    "j0": (special.bessel_j0, LOOSE), "j1": (special.bessel_j1, LOOSE),
    "y0": (special.bessel_y0, LOOSE), "y1": (special.bessel_y1, LOOSE),
    "spherical j0": (special.spherical_bessel_j0, 1e-12),
    "erfcx": (special.erfcx, 1e-12), "log_ndtr": (special.log_ndtr, 1e-12),
    "trigamma": (partial(torch.polygamma, 1), LOOSE),
    "digamma": (partial(torch.polygamma, 0), 1e-11),
}  # fmt: skip
VALUES = [-9.5, -3.3, -1.2, -0.4, 0.0, 1e-3, 0.3, 0.5, 1.0, 2.0, 2.2, 7.9, 8.1, 12.5, 20.25]
WITH_DERIVATIVES = ["i0", "i0e", "i1", "i1e", "erfcx", "log_ndtr", "digamma"]


pytestmark = pytest.mark.usefixtures("takes_programs")


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values(name: str, dtype: torch.dtype, backend: DeviceModule, device: torch.device) -> None:
    call, limit = ALL[name]
    limit = max(limit, 2e-5 if dtype == torch.float32 else 0)
    x = torch.tensor(VALUES, dtype=dtype)
    backend.reset_fallbacks()
    seen = call(torch.stack([x, x]).to(device)[:, ::2])
    assert backend.fallbacks() == []
    expected = call(x.double())[::2].to(dtype)
    for row in seen.cpu():
        torch.testing.assert_close(row, expected, rtol=limit, atol=limit, equal_nan=True)


@pytest.mark.parametrize("name", WITH_DERIVATIVES)
def test_derivatives(name: str, backend: DeviceModule, device: torch.device) -> None:
    call, _ = ALL[name]
    found = []
    for where in ("cpu", device):
        x = torch.tensor(VALUES[5:]).to(where).requires_grad_()
        backend.reset_fallbacks()
        call(x).sum().backward()
        assert x.grad is not None
        found.append(x.grad.cpu())
    assert backend.fallbacks() == []
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)
