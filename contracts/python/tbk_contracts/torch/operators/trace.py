# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a program asks of a device: operators, dtypes, how often, and who computed them.

A mode of PyTorch's dispatcher sees each operator that the program calls, in backward passes and
whatever thread these run in, too; other threads of the program, and other processes, it does not
see. What composites are made of in PyTorch's own kernels it does not see either: a device whose
module counts (see `served`) tells of those by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tbk_contracts.torch.operators.served import ROUTES, counted, registered

UNSERVED = ("missing", "refused", "fallback")  # worst first: what is worth writing
_KINDS = ("fallback", *reversed(ROUTES))  # what a device's module tells, worst first


@dataclass
class Need:
    """An operator that a program has asked for with one dtype."""

    operator: str
    """As "aten::add.Tensor"."""
    dtype: str
    """That of the first operand on the device, or of the result; empty: unknown."""
    served: str
    """One of the words of `served`."""
    calls: int = 0


def base(operator: str) -> str:
    """Returns "add" of "aten::add.out", and "acme::f" of "acme::f.x": a kernel serves all of its
    overloads."""
    return operator.removeprefix("aten::").partition(".")[0]


class Trace:
    """Context manager: sees what is asked of devices of one type."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._calls: dict[tuple[Any, str], int] = {}
        self._raised: dict[Any, str] = {}
        self._mode: Any = _Asked(self)
        self._before: Counter[_Row] = Counter()
        self.latest = ""
        """The operator that was called last."""

    def __enter__(self) -> Trace:
        self._before = _counts(self._device)
        self._mode.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._mode.__exit__(kind, error, trace)

    # ---------------------------------------------------------------------------- what is seen --

    def began(self, operator: Any) -> None:
        """An operator is called, maybe of another device; it may not come back."""
        self.latest = operator.name()

    def ended(self, operator: Any, tensors: Iterator[torch.Tensor]) -> None:
        """It came back; `tensors` are its operands, then its results."""
        for tensor in tensors:
            if tensor.device.type == self._device.type:
                key = operator, str(tensor.dtype).removeprefix("torch.")
                self._calls[key] = self._calls.get(key, 0) + 1
                return

    def raised(self, operator: Any, error: Exception) -> None:
        """It did not: the device has nothing that serves it, or refuses."""
        self._raised[operator] = "missing" if "Could not run" in str(error) else "refused"

    # ---------------------------------------------------------------------------- what it says --

    def needs(self) -> list[Need]:
        """Returns what was asked for and, where the device's module counts, what fell back besides:
        unserved ones first, then the most frequent."""
        found = list(self._seen())
        found += self._unseen({(base(one.operator), one.dtype) for one in found})
        return sorted(found, key=lambda one: (_place(one.served), -one.calls, one.operator))

    @property
    def counts(self) -> bool:
        """Returns whether the device's module counts what falls back."""
        return counted(self._device) is not None

    def _seen(self) -> Iterator[Need]:
        key = str(torch._C._dispatch_key_for_device(self._device.type))
        grown = self._grown()
        for (operator, dtype), calls in self._calls.items():
            name = operator.name()
            served = _told(grown, base(name), dtype) or registered(operator, key)
            yield Need(name, dtype, served, calls)
        for operator, served in self._raised.items():
            yield Need(operator.name(), "", served, 1)

    def _unseen(self, seen: set[tuple[str, str]]) -> Iterator[Need]:
        """What fell back within other operators, or in other threads."""
        for (name, dtype, served), calls in self._grown().items():
            if served == "fallback" and (base(name), dtype) not in seen:
                yield Need(name, dtype, served, calls)

    def _grown(self) -> Counter[_Row]:
        return _counts(self._device) - self._before


_Row = tuple[str, str, str]  # operator, dtype, who served it


def _counts(device: torch.device) -> Counter[_Row]:
    """Returns what the device's module has counted so far: `routes`, or else `fallbacks`."""
    ask = getattr(getattr(torch, device.type, None), "routes", None)
    found: Counter[_Row] = Counter()
    for row in ask() if callable(ask) else ():
        if getattr(row, "route", None) in _KINDS:
            dtype = str(getattr(row, "dtype", None) or "").removeprefix("torch.")
            found[str(row.operator), dtype, row.route] += int(row.count)
    if not callable(ask):
        found.update({(name, "", "fallback"): n for name, n in (counted(device) or {}).items()})
    return found


def _told(grown: Counter[_Row], name: str, dtype: str) -> str:
    """Returns how the device's module says that an operator was served, the worst of several ways;
    empty where it does not say. A fallback has the dtype of an operand, others that of a result."""
    ways = {how for one, its, how in grown if base(one) == name and its in (dtype, "")}
    ways |= {how for one, _, how in grown if base(one) == name and how != "fallback"}
    return min(ways, key=_KINDS.index, default="")


def _place(served: str) -> int:
    return UNSERVED.index(served) if served in UNSERVED else len(UNSERVED)


class _Asked(TorchDispatchMode):
    """Tells a trace of each operator."""

    def __init__(self, trace: Trace) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._trace = trace

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self._trace.began(func)
        try:
            result = func(*args, **(kwargs or {}))
        except NotImplementedError as error:
            self._trace.raised(func, error)
            raise
        self._trace.ended(func, _tensors([args, kwargs, result]))
        return result


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    """Yields the tensors in nested lists, tuples and dictionaries."""
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _tensors(value)
    elif isinstance(values, dict):
        yield from _tensors(list(values.values()))
