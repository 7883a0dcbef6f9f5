# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of tensors that the bridge has not: one clear refusal each, and never an abort."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

Make = Callable[[torch.device], object]


def _quantised() -> torch.Tensor:
    return torch.quantize_per_tensor(torch.rand(3), 0.1, 0, torch.qint8)


def _eye() -> torch.Tensor:
    return torch.eye(3)


REFUSED: dict[str, tuple[str, Make]] = {
    "to_sparse": ("sparse", lambda d: _eye().to(d).to_sparse()),
    "to_sparse_csr": ("sparse", lambda d: _eye().to(d).to_sparse_csr()),
    "coo": (
        "sparse",
        lambda d: torch.sparse_coo_tensor(torch.zeros(2, 1), torch.ones(1), (2, 2), device=d),
    ),
    "coo moved": ("sparse", lambda d: _eye().to_sparse().to(d)),
    "csr used": ("sparse", lambda d: _eye().to_sparse_csr().to(d) @ _eye().to(d)),
    "sparse of the host": ("sparse", lambda d: torch.sparse.mm(_eye().to_sparse(), _eye().to(d))),
    "sparse zeros": ("sparse", lambda d: torch.zeros(3, layout=torch.sparse_coo, device=d)),
    "quantised": (
        "quantised",
        lambda d: torch.quantize_per_tensor(_eye().to(d), 1, 0, torch.qint8),
    ),
    "quantised moved": ("quantised", lambda d: _quantised().to(d)),
    "empty quantised": ("quantised", lambda d: torch.empty(3, dtype=torch.qint8, device=d)),
    "mkldnn": ("mkldnn", lambda d: _eye().to(d).to_mkldnn()),
    "nested": ("nested", lambda d: torch.nested.as_nested_tensor([torch.rand(3, device=d)])),
    "nested with gradients": (
        "nested",
        lambda d: torch.nested.as_nested_tensor([torch.rand(3, device=d, requires_grad=True)]),
    ),
    "nested made there": (
        "nested",
        lambda d: torch.nested.nested_tensor([torch.rand(3)], device=d, requires_grad=True) + 1,
    ),
    "nested moved": ("nested", lambda d: torch.nested.nested_tensor([torch.rand(3)]).to(d)),
    "nested from a mask": (
        "nested",
        lambda d: torch._nested_tensor_from_mask(
            torch.rand(2, 3, 4, device=d), torch.ones(2, 3, dtype=torch.bool, device=d)
        ),
    ),
}


@pytest.mark.filterwarnings("ignore")  # PyTorch's own, of prototypes
@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_kind(device: torch.device, name: str) -> None:
    kind, make = REFUSED[name]
    with pytest.raises(NotImplementedError, match=f"has no (strided )?{kind} tensors; ") as raised:
        make(device)
    assert "registered at" not in str(raised.value)


def test_jagged_nested_tensors_work(device: torch.device) -> None:
    parts = [torch.rand(3, device=device), torch.rand(2, device=device)]
    nested = torch.nested.nested_tensor(parts, layout=torch.jagged)
    padded = torch.nested.to_padded_tensor(nested * 2, 0.0)
    assert padded.shape == (2, 3)
    assert torch.equal(padded[1, :2].cpu(), parts[1].cpu() * 2)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested:UserWarning")  # once a process
def test_an_encoder_takes_a_padding_mask(device: torch.device) -> None:
    """In eval mode PyTorch would make nested tensors. What is padding may be anything."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2).eval()
    x, mask = torch.rand(2, 5, 8), torch.tensor([[0, 0, 0, 1, 1], [0, 0, 0, 0, 1]]).bool()
    with torch.no_grad():
        expected = encoder(x, src_key_padding_mask=mask)[~mask]
        seen = encoder.to(device)(x.to(device), src_key_padding_mask=mask.to(device)).cpu()[~mask]
    torch.testing.assert_close(seen, expected)
