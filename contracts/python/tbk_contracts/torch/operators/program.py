# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A failing sample as a script that needs nothing of this suite."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from tbk_contracts.torch import check, run_seed
from tbk_contracts.torch.operators.entries import Entry
from tbk_contracts.torch.operators.samples import Sample

# How the suite changed the tensors of the sample, for those that have dimensions.
CHANGES = {
    "strided": "torch.stack([to(t), to(t)], -1)[..., 0]",
    "emptied": "to(t)[:0]",
    "expanded": "to(t)[:1].expand(t.shape)",
}


def program(
    entry: Entry, sample: Sample, dtype: torch.dtype, device: torch.device, start: str
) -> str:
    """Prints what the CPU gives, and what the device does."""
    changed = CHANGES.get(sample.variant, "")
    placed = f"({changed} if t.dim() else to(t))" if changed else "to(t)"
    grad = entry.is_gradient
    lines = [
        f"# {sample.name} of {entry.title} in {dtype}{', its gradients' if grad else ''}",
        *start.splitlines(),
        "from torch.testing._internal.common_methods_invocations import op_db",
        "from torch.testing._internal.common_utils import set_rng_seed",
        "from torch.utils._pytree import tree_leaves, tree_map_only",
        f"op = next(each for each in op_db if each.formatted_name == {entry.title!r})",
        f'made = iter(op.sample_inputs("cpu", {dtype}, {grad}, set_seed=False))',
        f"for _ in range({sample.number + 1}):",
        f"    set_rng_seed({run_seed.chosen()})",
        "    s = next(made)",
        f'for device in ("cpu", "{device}"):',
        "    to = lambda t: t.detach().to(device)",
        f"    put = lambda t: {placed}.requires_grad_(t.requires_grad)",
        "    x, a, k = tree_map_only(torch.Tensor, put, (s.input, s.args, s.kwargs))",
        "    torch.manual_seed(0)",
        *_shown(grad),
    ]
    return "\n".join(lines) + "\n"


@contextmanager
def told(
    entry: Entry, sample: Sample, dtype: torch.dtype, device: torch.device, start: str
) -> Iterator[None]:
    """Where a check of the sample does not hold, the record has the program."""
    before = check.totals().warning
    try:
        yield
    except Exception:
        check.fact(program=program(entry, sample, dtype, device, start))
        raise
    if check.totals().warning is not before:
        check.fact(program=program(entry, sample, dtype, device, start))


def _shown(grad: bool) -> list[str]:
    if not grad:
        return ["    print(device, op(x, *a, **k))"]
    return [
        "    out = tree_leaves(s.output_process_fn_grad(op(x, *a, **k)))",
        "    sum(o.sum() for o in out if o.requires_grad).backward()",
        "    print(device, [getattr(t, 'grad', None) for t in tree_leaves((x, a, k))])",
    ]
