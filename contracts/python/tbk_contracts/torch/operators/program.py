# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A failing sample as a script that needs nothing of this suite."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from tbk_contracts.torch.operators.entries import Entry
from tbk_contracts.torch.operators.samples import Sample


def program(
    entry: Entry, sample: Sample, dtype: torch.dtype, device: torch.device, modules: Sequence[str]
) -> str:
    """Prints what the device gives, and what the CPU does."""
    lines = [
        f"# {sample.name} of {entry.title} in {dtype}",
        "import itertools, torch",
        *(f"import {name}" for name in modules),
        "from torch.testing._internal.common_methods_invocations import op_db",
        "from torch.utils._pytree import tree_map_only",
        f"op = next(each for each in op_db if each.formatted_name == {entry.title!r})",
        "torch.manual_seed(0)",
        f'samples = op.sample_inputs("cpu", {dtype})',
        f"s = next(itertools.islice(samples, {sample.number}, None))",
        *_change(sample),
        "arguments = (s.input, s.args, s.kwargs)",
        f'for device in ("cpu", "{device}"):',
        "    x, a, k = tree_map_only(torch.Tensor, lambda t: t.to(device), arguments)",
        "    print(device, op(x, *a, **k))",
    ]
    return "\n".join(lines) + "\n"


def _change(sample: Sample) -> list[str]:
    if sample.variant == "strided":
        return ["# the suite made the inputs strided: every second element of wider tensors"]
    if sample.variant == "emptied":
        return ["# the suite left no rows in the inputs"]
    if sample.variant == "expanded":
        return ["# the suite expanded the first row of each input over its shape"]
    return []
