# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Train a small model on a backend and on PyTorch's CPU, and compare: python train.py [LIBRARY]."""

from __future__ import annotations

import sys

import torch
import torch_tbk


def losses(device: torch.device) -> list[float]:
    """Twenty steps from the same start, on the same data."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.LayerNorm(64), torch.nn.Linear(64, 10)
    ).to(device)
    inputs, targets = torch.randn(128, 32).to(device), torch.randint(10, (128,)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    seen = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    return seen


def main(library: str) -> int:
    named = library.isidentifier()
    module = torch_tbk.load(torch_tbk.reference(library) if named else library)
    device = torch.device(module.backend_name)
    print(torch.ones(3, device=device))
    ours, stock = losses(device), losses(torch.device("cpu"))
    print(f"loss on {device}: {ours[0]:.4f} to {ours[-1]:.4f}; on cpu: {stock[-1]:.4f}")
    apart = max(abs(a - b) for a, b in zip(ours, stock, strict=True))
    print(f"largest difference of a step: {apart:.1e}")
    return 0 if apart < 1e-3 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "cpu"))
