# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch on any backend that speaks tbk.h.

```python
import torch, torch_tbk

acme = torch_tbk.load("./libacme.so")   # also torch.acme from now on
x = torch.ones(3, device="acme")
```

Importing this package imports no PyTorch, registers nothing and opens nothing: `load` does the
first two, and the first use of a device opens it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_tbk._autoload import autoload
from torch_tbk._load import load
from torch_tbk._reference import reference

if TYPE_CHECKING:
    from torch_tbk.device_module import (
        Capability,
        DeviceModule,
        DeviceProperties,
        FallbackCount,
        PlanCounts,
        RouteCount,
    )

__all__ = [
    "Capability",
    "DeviceModule",
    "DeviceProperties",
    "FallbackCount",
    "PlanCounts",
    "RouteCount",
    "autoload",
    "load",
    "reference",
]

_NEED_PYTORCH = frozenset(
    {
        "Capability",
        "DeviceModule",
        "DeviceProperties",
        "FallbackCount",
        "PlanCounts",
        "RouteCount",
    }
)


def __getattr__(name: str) -> Any:
    if name not in _NEED_PYTORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from torch_tbk import device_module  # noqa: PLC0415  # imports PyTorch

    return getattr(device_module, name)
