# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Gradients of an operator: the gradients are what a function gives that is judged likewise."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_flatten

from tbk_contracts.torch import check, host
from tbk_contracts.torch.operators import forms, holding, judge, oracle, samples, table, trial
from tbk_contracts.torch.operators.entries import Entry
from tbk_contracts.torch.operators.program import told

DTYPES = ("float32", "float64")
MOST, FORMS = 3, 2


def dtypes(entry: Entry) -> tuple[str, ...]:
    """Returns those in which the entry has gradients that can be judged."""
    if not entry.info.supports_autograd or entry.kind is table.Class.STATISTICS:
        return ()
    if entry.title in table.NO_GRADIENT:
        return ()
    held = entry.info.supported_backward_dtypes("cpu")
    return tuple(name for name in DTYPES if name in entry.dtypes and getattr(torch, name) in held)


def _seed(output: torch.Tensor) -> torch.Tensor:
    """Returns what comes from behind: eighths from -2 to 2, which every dtype holds."""
    with _disable_current_modes():  # what the suite makes on the host, no device needs to have
        count = torch.arange(output.numel(), device="cpu").reshape(output.shape)
        eighths = ((count * 13 + 5) % 33 - 16).to(output.dtype) / 8
    return host.upload(eighths, output.device)


def _function(entry: Entry, sample: samples.Sample) -> oracle.Function:
    """From the arguments of the operator to the gradients of those that want one."""

    def gradients(value: Any, *args: Any, **kwargs: Any) -> list[torch.Tensor | None]:
        wanted = [leaf for leaf in tree_flatten((value, args, kwargs))[0]
                  if isinstance(leaf, torch.Tensor) and leaf.requires_grad]  # fmt: skip
        result = entry.info.op(value, *args, **kwargs)
        if sample.outputs is not None:
            result = sample.outputs(result)
        outputs = [one for one in samples.tensors(result) if one.requires_grad]
        if not wanted or not outputs:
            return []
        return list(
            torch.autograd.grad(outputs, wanted, [_seed(one) for one in outputs], allow_unused=True)
        )

    return gradients


def _switched(sample: samples.Sample) -> tuple[str, ...]:
    """Returns the options that are turned on."""
    return tuple(key for key, value in sorted(sample.kwargs.items()) if value is True)


def _forms_beside_many(sample: samples.Sample) -> tuple[str, ...]:
    """Returns of which form each operand behind a first one of several elements is: a sum over all
    of the others is the gradient of what is one element. Empty beside a single one."""
    held = sample.tensors()
    if not held or held[0].numel() <= 1:
        return ()
    return tuple("none" if one.dim() == 0 else "one" if one.numel() == 1 else "many"
                 for one in held[1:] if one.requires_grad)  # fmt: skip


def _wanting(leaf: Any) -> Any:
    is_number = isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
    return leaf.detach().clone().requires_grad_() if is_number else leaf


def _chosen(entry: Entry, dtype: torch.dtype) -> list[samples.Sample]:
    """Returns a few, and in float32 one for each form of operands that none of them has, and for
    each option alone that none of them turns on. For some options the database has samples without
    gradients alone, since theirs is no derivative."""
    found = samples.picked(entry, dtype, MOST, requires_grad=True)
    if dtype != torch.float32:
        return found
    met = set(map(_forms_beside_many, found))
    told_of = samples.saying(entry, dtype, _forms_beside_many, requires_grad=True)
    found += [one for one in told_of if _forms_beside_many(one) not in met][:FORMS]
    if not forms.has_switch(entry):
        return found
    had = {key for sample in found for key in _switched(sample)}
    more = samples.saying(entry, dtype, _switched)
    return found + [one.map(_wanting) for one in more
                    if len(_switched(one)) == 1 and not had.issuperset(_switched(one))]  # fmt: skip


def _of(entry: Entry, sample: samples.Sample) -> Entry:
    """An entry of which the operator is the gradient."""
    return replace(entry, info=SimpleNamespace(op=_function(entry, sample)), is_gradient=True)


def try_gradients(
    entry: Entry, dtype: torch.dtype, device: torch.device, start: str = "import torch"
) -> None:
    """Judges the gradients of the picked samples."""
    margin, judged, left = judge.Margin(), 0, holding.LeftOut(device)
    chosen = _chosen(entry, dtype)
    for index, sample in enumerate(chosen):
        backward = _of(entry, sample)
        expected = oracle.expect(backward, sample, dtype)
        if expected is None or not expected.plain or expected.draws:
            continue
        if left.takes(sample, expected):
            continue
        placed = samples.place(sample, device, entry)
        trial.poison(expected, device)
        waiting = len(chosen) - index
        got = trial.offered(entry, backward, placed, expected, dtype, device, waiting)
        if got is None:
            return
        judged += 1
        try:
            with told(backward, sample, dtype, device, start):
                judge.results(backward, sample, got, expected, device, margin)
        finally:
            check.fact(operator=entry.title, dtype=str(dtype).removeprefix("torch."),
                       margin=margin.worst)  # fmt: skip
    left.tell(judged, "no sample has a gradient to compare with")
