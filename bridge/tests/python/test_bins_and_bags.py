# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Histograms, modes, bags of embeddings, margins between classes, and choices among categories."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812  as everybody calls it
from beside_cpu import Call, check, signed, whole

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
nan, inf = float("nan"), float("inf")


pytestmark = pytest.mark.usefixtures("takes_programs")

ODD = torch.tensor([0.0, 1.0, nan, -3.0, 0.25, inf, 1.0, 0.999, 0.5, -inf, 2.0])
BINS: dict[str, tuple[Call, list[Tensor]]] = {
    "bincount": (torch.bincount, [whole(40)]),
    "bincount of nothing": (partial(torch.bincount, minlength=3), [whole(0)]),
    "bincount, at least": (partial(torch.bincount, minlength=9), [whole(5)]),
    "bincount of bytes": (torch.bincount, [whole(40).to(torch.uint8)]),
    "bincount, weights": (lambda x, w: torch.bincount(x, w.detach()), [whole(40), signed(40)]),
    "bincount, whole weights": (
        lambda x, w: torch.bincount(x, w.detach().double()), [whole(40), signed(40)]),
    "histc": (partial(torch.histc, bins=7), [signed(9, 11)]),
    "histc of a range": (partial(torch.histc, bins=4, min=0, max=1), [ODD]),
    "histc of equals": (partial(torch.histc, bins=5), [torch.full((6,), 2.0)]),
    "histc of steps": (
        partial(torch.histc, bins=10, min=0, max=10), [torch.arange(21, dtype=torch.float64) / 2]),
    "histogram": (lambda x: tuple(torch.histogram(x.detach(), 6)), [signed(5, 9)]),
    "histogram of equals": (
        lambda x: tuple(torch.histogram(x.detach(), 3)), [torch.full((6,), 2.0)]),
    "histogram of a range": (
        lambda x: tuple(torch.histogram(x.detach(), 4, range=(0.0, 1.0))), [ODD]),
    "histogram, density": (
        lambda x, w: tuple(torch.histogram(x.detach(), 6, weight=w.detach(), density=True)),
        [signed(31), signed(31).abs()]),
    "histogram of edges": (
        lambda x, e: tuple(torch.histogram(x.detach(), e.detach())),
        [ODD, torch.tensor([-3.0, 0.0, 0.25, 1.0])]),
    "mode": (torch.mode, [signed(4, 7)]),
    "mode of equals": (torch.mode, [whole(5, 13, most=3)]),
    "mode along": (partial(torch.mode, dim=0, keepdim=True), [whole(9, 4, 2, most=4)]),
    "mode of a number": (torch.mode, [torch.tensor(3.0)]),
}  # fmt: skip


@pytest.mark.parametrize("name", BINS)
def test_bins(name: str, backend: DeviceModule, device: torch.device) -> None:
    call, inputs = BINS[name]
    check(call, inputs, backend, device)


def test_a_negative_number_has_no_bin(backend: DeviceModule, device: torch.device) -> None:
    with pytest.raises(RuntimeError, match="negative"):
        torch.bincount(torch.tensor([1, -1]).to(device))
    with pytest.raises(RuntimeError, match="finite"):
        torch.histc(torch.tensor([1.0, inf]).to(device), 3)


OFFSETS = torch.tensor([0, 2, 2, 5])  # the second bag is empty
INDICES = torch.tensor([1, 3, 3, 0, 6, 6, 2, 3, 3])
WORDS = signed(7, 4)
BAGS: list[dict[str, Any]] = [
    {},
    {"padding_idx": 3},
    {"include_last_offset": True, "padding_idx": 0},
]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("options", BAGS, ids=str)
def test_bags(
    mode: str, options: dict[str, Any], backend: DeviceModule, device: torch.device
) -> None:
    def call(words: Tensor, indices: Tensor, offsets: Tensor) -> Tensor:
        return F.embedding_bag(indices, words, offsets, mode=mode, **options)

    last = [len(INDICES)] if "include_last_offset" in options else []
    offsets = torch.cat([OFFSETS, torch.tensor(last, dtype=torch.int64)])
    for dtype in (torch.int64, torch.int32):
        check(call, [WORDS, INDICES.to(dtype), offsets.to(dtype)], backend, device)
    check(call, [WORDS, torch.full((3,), 3), torch.tensor([0, 1, 3])], backend, device)


def test_bags_with_factors(backend: DeviceModule, device: torch.device) -> None:
    def call(words: Tensor, factors: Tensor, indices: Tensor, padding: int | None) -> Tensor:
        return F.embedding_bag(
            indices, words, OFFSETS.to(words.device), mode="sum", per_sample_weights=factors,
            padding_idx=padding,
        )  # fmt: skip

    for padding in (None, 3):
        check(partial(call, padding=padding), [WORDS, signed(9), INDICES], backend, device)


def test_what_a_bag_is_told_by(backend: DeviceModule, device: torch.device) -> None:
    """The bag of each index, how many each has, and where the greatest came from."""
    for mode in (1, 2):
        told = [torch._embedding_bag(WORDS.to(where), INDICES.to(where), OFFSETS.to(where),
                                     False, mode, False, None, False, 3)
                for where in ("cpu", device)]  # fmt: skip
        for ours, theirs in zip(told[1], told[0], strict=True):
            torch.testing.assert_close(ours.cpu(), theirs)


MARGINS = [{"p": p, "margin": margin} for p, margin in ((1, 1.0), (2, 0.5))]


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_margins(reduction: str, backend: DeviceModule, device: torch.device) -> None:
    for options, has_weight in itertools.product(MARGINS, (False, True)):

        def call(x: Tensor, y: Tensor, *weight: Tensor, given: Any = options) -> Tensor:
            detached = weight[0].detach() if weight else None
            return F.multi_margin_loss(x, y, weight=detached, reduction=reduction, **given)

        more = [signed(5).abs()] if has_weight else []
        check(call, [signed(3, 5), whole(3, most=5), *more], backend, device)
        check(call, [signed(5), torch.tensor(2), *more], backend, device)
    one = partial(F.multi_margin_loss, reduction=reduction)
    check(one, [torch.tensor(0.5), torch.tensor(0)], backend, device)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_margins_of_several_labels(
    reduction: str, backend: DeviceModule, device: torch.device
) -> None:
    labels = torch.tensor([[3, 0, -1, 1], [-1, 0, 1, 2], [2, 2, 0, -1], [0, 1, 2, 3]])
    call = partial(F.multilabel_margin_loss, reduction=reduction)
    check(call, [signed(4, 4), labels], backend, device)
    check(call, [signed(4), labels[0]], backend, device)


CHANCES = torch.tensor([[0.0, 1.0, 3.0, 0.0], [5.0, 0.0, 0.0, 5.0]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize(("samples", "replaces"), [(1, False), (2, False), (4000, True)])
def test_choices(
    samples: int, replaces: bool, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    """None of chance 0, none twice unless it may be, as often as said, and again for the seed."""
    backend.reset_fallbacks()
    torch.manual_seed(3)
    there = CHANCES.to(device, dtype)
    seen, other = (torch.multinomial(there, samples, replaces) for _ in range(2))
    torch.manual_seed(3)
    again = torch.multinomial(there, samples, replaces)
    assert backend.fallbacks() == []
    assert (seen.dtype, seen.shape) == (torch.int64, (2, samples))
    assert torch.equal(seen.cpu(), again.cpu())
    assert bool((CHANCES.gather(1, seen.cpu()) > 0).all())
    if samples == 2:
        assert seen.cpu().sort(1).values.tolist() == [[1, 2], [0, 3]]
    if replaces:
        assert not torch.equal(seen.cpu(), other.cpu())
        assert (seen[0].cpu() == 2).float().mean().item() == pytest.approx(0.75, abs=0.04)


@pytest.mark.parametrize("chances", [[-1.0, 2.0], [nan, 1.0], [0.0, 0.0], [inf, 1.0]])
def test_what_is_no_chance_is_refused(chances: list[float], device: torch.device) -> None:
    with pytest.raises(RuntimeError, match=r"probability|multinomial"):
        torch.multinomial(torch.tensor(chances).to(device), 1)
