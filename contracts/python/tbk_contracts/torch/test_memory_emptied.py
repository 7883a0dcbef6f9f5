# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The cache, emptied: whatever lay in it, of whatever size, freed in whatever order."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable

import torch

from tbk_contracts.torch import check, host, order
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.extremes import needs, place
from tbk_contracts.torch.pairs import Case, each_case, line

MIB = 1 << 20
SIZES = {
    "small": (512, 4000, 40_000),
    "large": (MIB + 1, 3 * MIB),
    "both": (512, 2 * MIB, 40_000, 300_000),
}
FREES: dict[str, Callable[[list[torch.Tensor]], list[torch.Tensor]]] = {
    "forwards": lambda held: held[::-1],
    "backwards": lambda held: held,
    "every other": lambda held: held[::2] + held[1::2],
}
"""In which order they are freed, from the end of what is returned on."""


def _words(case: Case) -> str:
    return "two_devices" if case["emptied_on"] == "other" else needs(case)


def _reserved(device: torch.device) -> int:
    return torch.accelerator.memory_reserved(device)


@each_case(
    {"sizes": tuple(SIZES), "count": ("200", "1", "9"), "frees": tuple(FREES),
     "device": ("first", "second"), "emptied_on": ("it", "other")},
    lambda case: case.get("count") != "200" or case.get("sizes", "small") == "small",
    needs=_words, quick=4,
)  # fmt: skip
@clause("MEM-518", needs="memory_stats")
def test_all_that_is_free_is_given_back(device: torch.device, case: Case) -> None:
    """Whichever device is current."""
    device = place(case, device)
    current = device.index if case["emptied_on"] == "it" else 1 - device.index
    sent = host.values((1000,))
    kept = host.upload(sent, device)
    gc.collect()
    with torch.accelerator.device_index(device.index):
        order.settle(device)
        torch.accelerator.empty_cache()
        before = _reserved(device)
        sizes = itertools.cycle(SIZES[case["sizes"]])
        held = [torch.empty(next(sizes), dtype=torch.uint8, device=device)
                for _ in range(int(case["count"]))]  # fmt: skip
        wanted = sum(one.nbytes for one in held)
        check.that(f"memory_reserved(), all in use, {line(case)}", _reserved(device) >= wanted,
                   expected=f"at least {wanted}", seen=_reserved(device))  # fmt: skip
        held = FREES[case["frees"]](held)
        while held:
            del held[-1]
        with torch.accelerator.device_index(current):
            torch.accelerator.empty_cache()
        check.that(f"memory_reserved(), all given back, {line(case)}", _reserved(device) <= before,
                   expected=f"at most {before}, as before", seen=_reserved(device))  # fmt: skip
    check.tensor("values that live", host.download(kept), sent)
