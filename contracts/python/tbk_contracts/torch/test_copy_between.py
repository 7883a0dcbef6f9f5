# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Copies between two devices of tensors in any layout, into any layout."""

from __future__ import annotations

import itertools

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.operators import layouts

LAYOUTS = ("whole", "transposed", "reversed", "every second", "offset", "expanded")
SHAPES = ((2, 3), (2, 3, 4), (2, 3, 2, 3))


def _laid(layout: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Returns fresh whole numbers in that layout, on the host."""
    if layout == "whole":
        return layouts.whole(shape, torch.float32)
    if layout == "reversed":
        made = layouts.whole(shape[::-1], torch.float32)
        return made.permute(*range(len(shape) - 1, -1, -1))
    return layouts.make(layout, shape, torch.float32)


@pytest.mark.parametrize("source", LAYOUTS)
@clause("CPY-508", needs="two_devices dtype:float32")
def test_layouts_go_between_devices(devices: list[torch.device], source: str) -> None:
    targets = [one for one in LAYOUTS if one != "expanded"]
    for (here, there), shape in itertools.product((devices[:2], devices[1::-1]), SHAPES):
        sent = _laid(source, shape)
        placed = layouts.put(sent, here)
        what = f"{list(shape)}, {source}, to another device"
        moved = placed.to(there)
        check.equal(f"the device of {what}", moved.device, there)
        check.tensor(what, host.download(moved), sent)
        check.equal(f"strides of {what}", moved.stride(), sent.clone().stride())
        for target in targets:
            into = layouts.put(_laid(target, shape), there)
            check.tensor(f"{what}, {target}", host.download(into.copy_(placed)), sent)
