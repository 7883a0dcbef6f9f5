# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Who computed an operator: measured, not asked.

native     its own kernel is registered for the device, and nothing went to the host; where the
           device's module tells by which route, that route stands in its place:
           named      a kernel of the operator's name
           generic    one kernel that takes programs
           composed   several of those, one after the other
composite  PyTorch made it of other operators
fallback   operands went to the host, which computed
refused    there is a kernel, and it raised NotImplementedError
missing    there is none, and nothing in its place

What goes to the host needs memory there: the profiler of PyTorch's CPU allocator sees each tensor
that is made on the host during the call. A device may count too: where its module has a function
`fallbacks`, which gives a list that grows, or a list of rows with `operator` and `count`, that is
believed when it says more, never when it says less. So with `routes`, a list of rows with
`operator`, `route` and `count`: it is asked only which kernel of the device it was.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import torch
from torch.autograd.profiler import profile
from torch.utils._python_dispatch import TorchDispatchMode

# The profiler's library tells on standard error when it starts and stops, unless it is told not to.
os.environ.setdefault("KINETO_LOG_LEVEL", "99")

ROUTES = ("named", "generic", "composed")  # the one that takes most kernels last

A_NUMBER = 16  # bytes: what a single element takes, which any operator may hand to its caller


class _Names(TorchDispatchMode):
    """Gathers the operators that are called."""

    def __init__(self, into: list[Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._into = into

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self._into.append(func)
        return func(*args, **(kwargs or {}))


def counted(device: torch.device) -> Counter[str] | None:
    """Returns what the device's module says has fallen back so far, by operator; None: it does
    not say.
    """
    module: Any = getattr(torch, device.type, None)
    ask = getattr(module, "fallbacks", None)
    if not callable(ask):
        return None
    found: Counter[str] = Counter()
    for row in ask():
        found[str(getattr(row, "operator", row))] += int(getattr(row, "count", 1))
    return found


def routed(device: torch.device) -> Counter[tuple[str, str]]:
    """Returns what the device's module says has been served so far, by operator and route; nothing
    where it does not say.
    """
    ask = getattr(getattr(torch, device.type, None), "routes", None)
    found: Counter[tuple[str, str]] = Counter()
    for row in ask() if callable(ask) else ():
        if getattr(row, "route", None) in ROUTES:
            found[str(row.operator), row.route] += int(row.count)
    return found


class Watch:
    """Sees the operators that a call asks of a device, and what it brings to the host."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.operators: list[Any] = []
        self.transfers = 0
        self.counted: dict[str, int] | None = None
        self.routes: set[str] = set()
        self._before: Counter[str] | None = None
        self._routed: Counter[tuple[str, str]] = Counter()
        self._mode: Any = _Names(self.operators)
        # All that PyTorch's own CPU does is on the host: there is nothing to be seen.
        self._profile: Any = (
            None if device.type == "cpu" else profile(use_kineto=True, profile_memory=True)
        )

    def __enter__(self) -> Watch:
        self._before = counted(self.device)
        self._routed = routed(self.device)
        if self._profile is not None:
            self._profile.__enter__()
        self._mode.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._mode.__exit__(kind, error, trace)
        if self._profile is not None:
            self._profile.__exit__(kind, error, trace)
            self.transfers = _made_on_host(self._profile)
        after = counted(self.device)
        if after is not None:
            self.counted = dict(after - (self._before or Counter()))
        self.routes = {route for _, route in routed(self.device) - self._routed}


def _made_on_host(seen: Any) -> int:
    """Tensors of more than one element that were made on the host."""
    host = torch._C._autograd.DeviceType.CPU
    return sum(
        event.name() == "[memory]" and event.device_type() == host and event.nbytes() > A_NUMBER
        for event in seen.kineto_results.events()
    )


def _forms(operator: Any) -> list[str]:
    """Returns the operator, and the forms with an output that PyTorch may make it of."""
    packet = operator.overloadpacket
    outs = [getattr(packet, name).name() for name in packet.overloads() if "out" in name]
    return [operator.name(), *outs]


def _row(name: str, key: str) -> str:
    table: str = torch._C._dispatch_dump_table(name)
    return next((line for line in table.splitlines() if line.startswith(f"{key}:")), "")


def registered(operator: Any, key: str) -> str:
    """Returns what the dispatch table has for it: "native", "composite", "fallback" or
    "missing".
    """
    rows = [_row(name, key) for name in _forms(operator)]
    if any(row.endswith("[kernel]") and f"Register{key}" in row for row in rows):
        return "native"
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    if any(has(name, key) for name in _forms(operator)):
        return "native"
    if any("[backend fallback]" in row and "fallthrough" not in row for row in rows):
        return "fallback"
    return "composite" if rows[0] else "missing"


def _route_of(routes: set[str]) -> str:
    """A kernel of the device may ask for others, for a copy: that of most kernels says how."""
    return max(routes, key=ROUTES.index, default="native")


@dataclass
class Served:
    """How the calls of one operator were served, so far as was seen."""

    how: str | None = None
    transfers: int = 0
    operators: list[str] = field(default_factory=list)
    """Those that the call asked of the device."""
    fell_back: list[str] = field(default_factory=list)
    """Those that the device's own count names."""

    def take(self, watch: Watch) -> None:
        """What one call came to."""
        key = str(torch._C._dispatch_key_for_device(watch.device.type))
        states = [registered(operator, key) for operator in watch.operators]
        self.operators = list(dict.fromkeys(each.name() for each in watch.operators))
        self.transfers = watch.transfers
        self.fell_back = sorted(watch.counted or ())
        if self.transfers or self.fell_back or "fallback" in states:
            self.how = "fallback"
        else:
            self.how = _route_of(watch.routes) if states == ["native"] else "composite"

    def refuse(self, error: Exception) -> None:
        """The call raised it."""
        text = str(error)
        self.how = "missing" if "Could not run" in text else "refused"

    def facts(self) -> dict[str, Any]:
        """For the test's record."""
        return {"served": self.how or "unknown", "transfers": self.transfers,
                "operators": self.operators, "fell_back": self.fell_back}  # fmt: skip
