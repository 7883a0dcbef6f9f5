# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The entries of PyTorch's database. To import this takes seconds: nothing else may do so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import set_rng_seed

from tbk_contracts.torch import run_seed
from tbk_contracts.torch.operators import table

NO_VALUES = table.Class.STATISTICS
DTYPES = ("float32", "float64", "int64", "bool", "float16", "bfloat16", "complex64")

# What nearly every program uses: first, so that a diagnosis that has little time looks at it.
COMMON = """
    add mul mm sum softmax true_divide nn_functional_linear cat where __getitem__ mean sub bmm addmm
    matmul nn_functional_layer_norm nn_functional_gelu nn_functional_relu nn_functional_embedding
    masked_fill gather index_select max_reduction_no_dim max_reduction_with_dim argmax cumsum eq lt
    exp pow sqrt rsqrt tanh sigmoid log clamp to clone transpose permute expand select slice stack
    log_softmax nn_functional_cross_entropy nn_functional_dropout nn_functional_conv2d
    nn_functional_batch_norm nn_functional_max_pool2d var_mean norm any nonzero topk sort index_put
    scatter_add amax fill zero_ full arange tril abs neg logical_and
""".split()  # noqa: SIM905  # quotes would hide the words


@dataclass(frozen=True)
class Entry:
    """An operator as the database has it: `info` is its OpInfo."""

    title: str
    info: Any
    dtypes: tuple[str, ...]
    is_gradient: bool = False
    """It stands for the gradients of the operator, which are sums whatever the operator is."""

    @property
    def is_complex(self) -> bool:
        """Returns whether all its dtypes are complex ones."""
        return all(getattr(torch, name).is_complex for name in self.dtypes)

    @property
    def kind(self) -> table.Class:
        kind = table.class_of(self.title, self.is_complex)
        return table.Class.BOUND if self.is_gradient and kind is not NO_VALUES else kind

    def samples(self, dtype: torch.dtype, requires_grad: bool = False) -> Iterator[Any]:
        """Yields the inputs that the database has, on the host, each from the seed of the run."""
        made = iter(self.info.sample_inputs("cpu", dtype, requires_grad, set_seed=False))
        while True:
            set_rng_seed(run_seed.chosen())
            try:
                sample = next(made)
            except StopIteration:
                return
            yield sample


def apart(entry: Entry) -> list[Entry]:
    """Returns the entry, or two: its complex numbers are of another class than its real ones."""
    if entry.title not in table.ROOT_OF_COMPLEX:
        return [entry]
    halves = [tuple(name for name in entry.dtypes if getattr(torch, name).is_complex is is_complex)
              for is_complex in (False, True)]  # fmt: skip
    return [replace(entry, dtypes=names) for names in halves if names]


def _dtypes(info: Any) -> tuple[str, ...]:
    """Returns those in which the host can be asked, whatever device is judged."""
    held = info.supported_dtypes("cpu")
    without = table.NOT_IN.get(info.formatted_name, ())
    return tuple(name for name in DTYPES if getattr(torch, name) in held and name not in without)


@cache
def entries() -> dict[str, Entry]:
    """Returns all that are judged, by title: the common ones, then the others as they come."""
    found = [Entry(info.formatted_name, info, _dtypes(info)) for info in op_db]
    at = {title: index for index, title in enumerate(COMMON)}
    found.sort(key=lambda entry: at.get(entry.title, len(at)))
    return {
        entry.title: entry for entry in found if entry.dtypes and entry.title not in table.LEFT_OUT
    }
