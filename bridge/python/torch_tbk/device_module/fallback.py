# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Who computed each operator: the device, by which route, or the CPU for want of a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, cast

import torch

from torch_tbk._binding import binding

FallbackMode = Literal["silent", "warn", "error"]
"""What happens where an operator would run on the CPU; see `set_fallback_mode`."""

Route = Literal["named", "generic", "composed", "fallback"]
"""Who serves an operator: a kernel of its own name, a generic kernel with a program, several
programs one after the other, or PyTorch's CPU."""


@dataclass(frozen=True)
class FallbackCount:
    """How often an operator has run on the CPU in place of a device."""

    operator: str
    """As "aten::add.Tensor"."""
    device: int
    """The index of the device."""
    count: int
    """Calls since the start, or reset_fallbacks."""


def fallbacks() -> list[FallbackCount]:
    """Returns the operators that have run on the CPU, the most frequent first. All threads'."""
    return [FallbackCount(*row) for row in binding.fallbacks()]


def reset_fallbacks() -> None:
    """Counts from 0 again."""
    binding.reset_fallbacks()


@dataclass(frozen=True)
class RouteCount:
    """How often an operator was served in one way."""

    operator: str
    """As "aten::exp.out"."""
    device: int
    """The index of the device."""
    dtype: torch.dtype | None
    """The result's; of a fallback the first tensor's; None: there was none."""
    route: Route
    """Who served it."""
    count: int
    """Calls since the start, or reset_routes."""


def routes() -> list[RouteCount]:
    """Returns who has served which operators so far, sorted by operator. All threads'.

    What PyTorch makes of other operators before a device sees it is not there; those it is made of
    are.
    """
    return [RouteCount(*row) for row in binding.routes()]


def reset_routes() -> None:
    """Counts routes from 0 again."""
    binding.reset_routes()


@dataclass(frozen=True)
class PlanCounts:
    """How much has been prepared so far, for all operators together."""

    programs: int
    """What generic kernels were given to compile: one for each formula, its dtypes included."""
    made: int
    """Plans that the backend was asked for: one for each kernel, sizes and strides."""
    kept: int
    """Plans that are kept, of each kernel and device at most 1024: those used last."""


def plans() -> PlanCounts:
    """Returns what has been prepared so far. All threads'.

    A number that changes, as a learning rate does, adds nothing: a step of training that was made
    before adds no plan, or its sizes are new.
    """
    return PlanCounts(*binding.plans())


def get_forced_route() -> Route | None:
    """Returns the one route that operators may take; None: they take the first that serves."""
    return cast("Route | None", binding.forced_route())


def set_forced_route(route: Route | None) -> None:
    """Closes all routes but one, for all threads, to see whether that one is right.

    Args:
        route: what operators may be served by; what it does not serve runs on the CPU. None opens
            all again. The environment variable TBK_ROUTE gives the first value, None where it is
            not set.

    Raises:
        ValueError: no such route.
    """
    binding.set_forced_route(route)


@contextmanager
def forced_route(route: Route | None) -> Iterator[None]:
    """Context manager: set_forced_route inside, and what it was afterwards. For all threads."""
    previous = get_forced_route()
    set_forced_route(route)
    try:
        yield
    finally:
        set_forced_route(previous)


def get_fallback_mode() -> FallbackMode:
    """Returns what happens where an operator would run on the CPU; see set_fallback_mode."""
    return cast("FallbackMode", binding.fallback_mode())


def set_fallback_mode(mode: FallbackMode) -> None:
    """Chooses what happens where an operator would run on the CPU, for all threads.

    Args:
        mode: "silent": it does, and is counted. "warn": also a warning, once an operator. "error":
            it does not, and NotImplementedError says which operator it was. The environment
            variable TBK_FALLBACK gives the first value, "silent" where it is not set.

    Raises:
        ValueError: no such mode.
    """
    binding.set_fallback_mode(mode)


@contextmanager
def fallback_mode(mode: FallbackMode) -> Iterator[None]:
    """Context manager: set_fallback_mode inside, and what it was afterwards. For all threads."""
    previous = get_fallback_mode()
    set_fallback_mode(mode)
    try:
        yield
    finally:
        set_fallback_mode(previous)
