# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What PyTorch's own samples call, forward and backward, comes out of the rows as of PyTorch.

Each call of an overload that has rows is computed by the row too, whoever makes the call: a
composite operator, a derivative, a function of torch.nn.functional.
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch is what the rows are held against")

import torch
from row_compare import faults
from row_evaluate import NotForThisRow
from row_spec import Row, load_rows
from torch.utils._python_dispatch import TorchDispatchMode

# The database warns of what is not installed; it is PyTorch's own.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    os.environ.setdefault("PYTORCH_TEST_WITH_SLOW", "0")
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.opinfo.core import BinaryUfuncInfo, OpInfo, UnaryUfuncInfo

DTYPES = [torch.float32, torch.int32]
MOST_SAMPLES = 3
# Others whose forward or backward calls rows; the ufuncs are all taken.
OTHERS = {
    "addcmul", "addcdiv", "lerp", "where", "masked_fill", "clamp", "clamp_min", "clamp_max",
    "std", "var", "norm", "nn.functional.gelu", "nn.functional.elu", "nn.functional.hardtanh",
    "nn.functional.leaky_relu", "nn.functional.softplus", "nn.functional.mse_loss",
    "nn.functional.smooth_l1_loss", "nn.functional.huber_loss", "nn.functional.threshold",
    "nn.functional.hardswish", "nn.functional.silu", "nn.functional.mish", "nn.functional.prelu",
    "nn.functional.hardsigmoid", "nn.functional.hardshrink", "nn.functional.softshrink",
    "nn.functional.layer_norm", "nn.functional.batch_norm", "nn.functional.celu",
    "nn.functional.binary_cross_entropy_with_logits", "nn.functional.kl_div",
}  # fmt: skip


def rows_by_name() -> dict[str, list[Row]]:
    """All rows of functions by overload, as PyTorch names it in a dispatch."""
    made: dict[str, list[Row]] = {}
    for row in load_rows(Path(__file__).resolve().parent.parent):
        if row.form == "function":
            name, _, overload = row.schema.name.partition(".")
            made.setdefault(f"aten.{name}.{overload or 'default'}", []).append(row)
    return made


ROWS = rows_by_name()


class Beside(TorchDispatchMode):
    """Computes with a row beside each call that has one, and collects what differs."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: list[str] = []
        self.called: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        for row in ROWS.get(str(func), ()):
            try:
                differing = faults(row, complete(func, args, kwargs))
                self.called.add(str(func))
                self.found += differing
            except NotForThisRow:
                continue
            break
        return func(*args, **kwargs)


def complete(func: Any, args: Any, kwargs: Any) -> list[Any]:
    """Every argument of a call in the order of the schema, as the row wants it."""
    made = []
    for place, one in enumerate(func._schema.arguments):
        value = args[place] if place < len(args) else kwargs.get(one.name, one.default_value)
        if isinstance(value, complex) or (isinstance(value, torch.Tensor) and value.is_complex()):
            raise NotForThisRow("complex numbers are served as pairs")
        made.append(value.detach() if isinstance(value, torch.Tensor) else value)
    return made


def entries() -> list[OpInfo]:
    """The entries of the database that call rows."""
    return [
        one
        for one in op_db
        if (isinstance(one, (UnaryUfuncInfo, BinaryUfuncInfo)) or one.name in OTHERS)
        and not one.name.startswith("jiterator")
    ]


def samples(entry: OpInfo, dtype: torch.dtype) -> Iterator[Any]:
    """Some samples of an entry, whose gradients are wanted where there are some."""
    grad = dtype.is_floating_point and entry.supports_autograd
    torch.manual_seed(0)
    return itertools.islice(entry.sample_inputs("cpu", dtype, requires_grad=grad), MOST_SAMPLES)


def run(entry: OpInfo, dtype: torch.dtype, beside: Beside) -> None:
    """Calls an entry with its samples, and takes the derivative."""
    for sample in samples(entry, dtype):
        with beside:
            out = entry.op(sample.input, *sample.args, **sample.kwargs)
            tensors = [one for one in (out if isinstance(out, (tuple, list)) else [out])
                       if isinstance(one, torch.Tensor) and one.requires_grad]  # fmt: skip
            if tensors:
                torch.autograd.backward(tensors, [torch.ones_like(one) for one in tensors])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_samples_come_out_of_rows_as_of_pytorch(dtype: torch.dtype) -> None:
    beside = Beside()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for entry in entries():
            if dtype in entry.dtypes:
                run(entry, dtype, beside)
    assert not beside.found, "\n".join(dict.fromkeys(beside.found[:40]))
    least = {torch.float32: 130, torch.int32: 95}[dtype]
    assert len(beside.called) >= least, sorted(beside.called)
