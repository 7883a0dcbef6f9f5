# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""How backward runs: its threads, their device and streams, and what it keeps alive."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from tbk_contracts.torch import check, host, order
from tbk_contracts.torch.case import clause

FACTORS = (1.0, 2.0, 4.0, 8.0)
LARGE = 1 << 18  # elements of a tensor whose memory can be told from the rest
Told = tuple[int, int]


def spy(tensor: torch.Tensor, told: Callable[[], None]) -> torch.Tensor:
    """`tensor`, and `told` is called where its gradient is computed."""

    class Spy(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, given: torch.Tensor) -> torch.Tensor:
            return given.view_as(given)

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            told()
            return gradient

    result: torch.Tensor = Spy.apply(tensor)  # type: ignore[no-untyped-call]
    return result


def where_backward_runs(device: torch.device) -> Told:
    """Thread, and index of the current device there."""
    seen: list[Told] = []
    x = host.upload(torch.ones(3), device).requires_grad_()
    spied = spy(x * 2, lambda: seen.append(
        (threading.get_ident(), torch.accelerator.current_device_index())
    ))  # fmt: skip
    spied.sum().backward()
    check.equal("times that backward ran", len(seen), 1)
    check.tensor("gradient", host.gradient(x), torch.full((3,), 2.0))
    return seen[0]


@clause("AGD-502", needs="accelerator")
def test_backward_has_one_thread(device: torch.device) -> None:
    first, current = where_backward_runs(device)
    check.equal("current device there", current, device.index)
    elsewhere, _ = host.in_thread(lambda: where_backward_runs(device))
    check.equal("thread when called from another one", elsewhere, first)
    apart = first != threading.get_ident()
    check.that("thread of backward", apart, expected="not the caller's", seen=first)


@clause("AGD-502", needs="two_devices")
def test_each_device_has_a_thread_where_it_is_current(
    device: torch.device, other_device: torch.device
) -> None:
    for current in (device, other_device):
        torch.accelerator.set_device_index(current)
        told = [where_backward_runs(one) for one in (device, other_device)]
        apart = told[0][0] != told[1][0]
        check.that("threads of two devices", apart, expected="two", seen="one")
        check.equal("current devices there", [one for _, one in told], [0, 1])
        seen = torch.accelerator.current_device_index()
        check.equal("the caller's current device afterwards", seen, current.index)
    torch.accelerator.set_device_index(device)


@clause("AGD-502", needs="stream")
def test_backward_runs_on_the_stream_of_forward(device: torch.device) -> None:
    seen: list[torch.Stream] = []
    own = torch.Stream(device)
    with own:
        x = host.upload(torch.ones(3), device).requires_grad_()
        y = spy(x * 2, lambda: seen.append(torch.accelerator.current_stream(device)))
        loss = y.sum()
    torch.accelerator.current_stream(device).wait_stream(own)
    before = torch.accelerator.current_stream(device)
    loss.backward()
    check.equal("stream of backward", [one.stream_id for one in seen], [own.stream_id])
    after = torch.accelerator.current_stream(device).stream_id
    check.equal("the caller's stream afterwards", after, before.stream_id)


@clause("AGD-503", needs="stream")
def test_gradients_of_several_streams_are_added_up(device: torch.device) -> None:
    """Whichever of the two branches is late, the sum has both."""
    first, second = torch.Stream(device), torch.Stream(device)
    for late in (first, second):
        values = host.values((10_000,), torch.int64).float()

        def program(load: order.Load, values: torch.Tensor = values) -> None:
            x = host.upload(values, device).requires_grad_()
            caller = torch.accelerator.current_stream(device)
            branches = []
            for stream, factor in ((first, 2.0), (second, 8.0)):
                stream.wait_stream(caller)
                with stream:
                    branches.append(((x * x) * factor).sum())
            for stream in (first, second):
                caller.wait_stream(stream)
            loss = branches[0] + branches[1]
            load.hold()
            loss.backward()
            load.mark()
            check.tensor("gradient", host.gradient(x), values * 20)

        order.show(late, program)


@clause("AGD-504", needs="stream")
def test_the_caller_may_read_gradients(device: torch.device) -> None:
    """The forward's stream is held: what backward enqueued there is late, and read in time."""
    own = torch.Stream(device)
    values = host.values((10_000,), torch.int64).float()

    def gradient(load: order.Load) -> torch.Tensor:
        caller = torch.accelerator.current_stream(device)
        with own:
            x = host.upload(values, device).requires_grad_()
            loss = (x * x * 3).sum()
        load.hold()
        caller.wait_stream(own)
        loss.backward()
        load.mark()
        return host.gradient(x)

    order.show(own, lambda load: check.tensor("gradient", gradient(load), values * 6))


@clause("AGD-504", needs="stream")
def test_a_stream_made_current_may_read_gradients(device: torch.device) -> None:
    own, reader = torch.Stream(device), torch.Stream(device)
    values = host.values((10_000,), torch.int64).float()

    def program(load: order.Load) -> None:
        with own:
            x = host.upload(values, device).requires_grad_()
            loss = (x * 3).sum()
        load.hold()
        with reader:
            loss.backward(torch.ones((), device=device))
            load.mark()
        check.tensor("gradient", order.read(reader, host_grad(x)), torch.full((10_000,), 3.0))

    order.show(own, program)


def host_grad(leaf: torch.Tensor) -> torch.Tensor:
    if leaf.grad is None:
        raise RuntimeError("no gradient has come to a leaf")
    return leaf.grad


@clause("AGD-505", needs="stream")
def test_memory_that_crosses_streams_is_not_used_again_early(device: torch.device) -> None:
    """A gradient made on one stream is read on another, which is held. Once backward has let it
    go, the first stream asks for as much memory and writes to it."""
    first, second = torch.Stream(device), torch.Stream(device)
    shape = (64, 1024)

    def program(load: order.Load) -> None:
        values = host.values(shape, torch.int64).float()
        with second:
            x = host.upload(values, device).requires_grad_()
            y = x * 2
        first.wait_stream(second)
        with first:
            loss = (y * 3).sum()
        load.hold()
        with first:
            loss.backward()
            for _ in range(8):  # what went back to the allocator is among these, or is kept
                torch.full(shape, -1.0, device=device)
        load.mark()
        check.tensor("gradient", order.read(second, host_grad(x)), torch.full(shape, 6.0))

    order.show(second, program)


@clause("AGD-509", needs="memory_stats")
def test_what_was_saved_is_freed_by_backward(device: torch.device) -> None:
    def allocated() -> int:
        order.settle(device)
        return int(torch.accelerator.memory_allocated(device))

    x = host.upload(torch.ones(LARGE), device).requires_grad_()
    start = allocated()
    size = LARGE * x.element_size()
    # Two products are saved, and nothing else holds them.
    loss = ((x * 2) * (x * 3)).sum()
    kept = allocated() - start
    check.that("bytes kept for backward", kept >= 2 * size, expected=f">= {2 * size}", seen=kept)
    loss.backward()
    left = allocated() - start - size  # the gradient
    check.that("bytes left after it", left < size, expected=f"< {size}", seen=left)


@clause("AGD-509")
def test_the_tensors_that_were_saved_go(device: torch.device) -> None:
    released: list[str] = []

    class Saved:
        def __init__(self, tensor: torch.Tensor) -> None:
            self.tensor = tensor

        def __del__(self) -> None:
            released.append("gone")

    x = host.upload(torch.ones(3), device).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(Saved, lambda saved: saved.tensor):
        loss = (x * 2 * x).sum()
    check.equal("released before backward", released, [])
    loss.backward()
    check.that("released after it", len(released) > 0, expected="all", seen=released)
    check.raises("backward again", RuntimeError, loss.backward, "second time")


_names = itertools.count(1)


@clause("AGD-508")
def test_an_operator_without_a_derivative_raises_in_backward(device: torch.device) -> None:
    name = f"tbk_contracts_autograd::twice{next(_names)}"

    @torch.library.custom_op(name, mutates_args=(), device_types=device.type)
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    x = host.upload(torch.ones(3), device).requires_grad_()
    y = twice(x)
    check.equal("device of the result", y.device, device)
    check.tensor("the result", host.download(y), torch.full((3,), 2.0))
    with torch.no_grad():
        check.tensor("under no_grad", host.download(twice(x)), torch.full((3,), 2.0))
    check.raises("backward", RuntimeError, lambda: y.sum().backward(), "no autograd formula")
    check.that("gradient", x.grad is None, expected="none", seen=x.grad)


@clause("AGD-507")
def test_backward_in_several_threads_at_once(device: torch.device) -> None:
    weight = host.counting((1000,)) % 16
    there = host.upload(weight, device)

    def work(factor: float) -> torch.Tensor:
        total = torch.zeros(1000)
        for _ in range(8):
            x = host.upload(torch.full((1000,), factor), device).requires_grad_()
            (x * x * there).sum().backward()
            total += host.gradient(x)
        return total

    seen = host.in_threads([partial(work, factor) for factor in FACTORS])
    for one, factor in zip(seen, FACTORS, strict=True):
        check.tensor("sum of a thread's gradients", one, weight * 16 * factor)


@clause("AGD-503", needs="stream")
def test_threads_with_streams_of_their_own(device: torch.device) -> None:
    def work(factor: float) -> torch.Tensor:
        with torch.Stream(device):
            x = host.upload(torch.full((1000,), factor), device).requires_grad_()
            (x * x).sum().backward()
            return host.gradient(x)

    seen = host.in_threads([partial(work, factor) for factor in FACTORS])
    for one, factor in zip(seen, FACTORS, strict=True):
        check.tensor("a thread's gradient", one, torch.full((1000,), 2 * factor))
