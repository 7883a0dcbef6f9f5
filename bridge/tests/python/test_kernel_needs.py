# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What kernels may want of the host: memory that is aligned, and room for memory of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch_tbk

Child = Callable[..., str]


def seen(child: Child, options: str, program: str) -> Any:
    """Returns what the program prints, on a legal device that wants something special."""
    whole = f"""
import json, sys
import torch, torch_tbk
name = torch_tbk.load(sys.argv[1], options=sys.argv[2]).backend_name
module = getattr(torch, name)
{program}
"""
    return json.loads(child(whole, torch_tbk.reference("mutants"), f"mutant=legal,{options}"))


# `alone(view)` is a tensor whose storage begins where the view does.
ALONE = """
def alone(view):
    made = torch.utils.dlpack.from_dlpack(view.__dlpack__())
    assert made.storage_offset() == 0 and made.data_ptr() == view.data_ptr()
    return made
"""


@pytest.mark.parametrize("options", ["aligned=1,prepare=2", "aligned=1,prepare=2,alignment=4096"])
def test_a_storage_that_begins_in_the_middle_is_described_from_an_aligned_address(
    child: Child, options: str
) -> None:
    program = f"""{ALONE}
right = []
for dtype in (torch.float32, torch.float16, torch.uint8, torch.float64):
    for first in (1, 3, 16, 33):
        there = torch.arange(40).to(dtype).to(name)
        view = alone(there[first:])
        view.copy_(view + view)
        right.append(there.cpu().tolist() == [*range(first), *range(2 * first, 80, 2)])
    alone(there[5:9]).fill_(7)
    right.append(there[4:10].tolist() == [4, 7, 7, 7, 7, 9])
print(json.dumps([right, [each.operator for each in module.fallbacks()]]))
"""
    assert seen(child, options, program) == [[True] * 20, []]


def test_a_storage_that_begins_within_an_element_runs_on_the_host(child: Child) -> None:
    # Eight bytes behind an aligned address no offset in elements of sixteen leads to it.
    program = f"""{ALONE}
there = torch.arange(9.0, dtype=torch.float64).to(name)
view = alone(there[1:]).view(torch.complex128)
total = view + view
counted = [each.operator for each in module.fallbacks()]
print(json.dumps([torch.view_as_real(total.cpu()).flatten().tolist(), counted]))
"""
    expected = [[2.0 * n for n in range(1, 9)], ["aten::add.out"]]
    assert seen(child, "aligned=1,prepare=2", program) == expected


@pytest.mark.parametrize("prepare", [0, 2])  # when one is planned, and at a launch without a plan
def test_a_kernel_gets_the_memory_that_the_allocator_keeps(child: Child, prepare: int) -> None:
    program = """
one = torch.ones(1024, device=name)
blocks = [torch.empty(1 << 20, dtype=torch.uint8, device=name)]
try:
    while True:
        blocks.append(torch.empty(4 << 20, dtype=torch.uint8, device=name))
except torch.OutOfMemoryError:
    pass
full = ""
try:
    one.add_(1)
except torch.OutOfMemoryError as error:
    full = str(error)
del blocks
kept = module.memory_reserved()
one.add_(1)
fallbacks = [each.operator for each in module.fallbacks()]
print(json.dumps([full, kept >> 20, fallbacks, one.sum().item()]))
"""
    full, kept, fallbacks, total = seen(child, f"memory=64M,scratch=8M,prepare={prepare}", program)
    assert "no memory for what is between" in full, "then nothing can be given back"
    assert kept > 16, "in MiB"
    assert (fallbacks, total) == ([], 2 * 1024)
