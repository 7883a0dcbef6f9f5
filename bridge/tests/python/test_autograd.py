# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Backward over several threads and streams, with hooks, on the streams of the forward."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch


def in_threads(count: int, work: Callable[[int], None]) -> None:
    errors: list[BaseException] = []

    def run(index: int) -> None:
        try:
            work(index)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def gradient(x: torch.Tensor) -> torch.Tensor:
    assert x.grad is not None
    assert x.grad.device == x.device
    return x.grad.cpu()


def test_gradients_are_those_of_the_host(device: torch.device) -> None:
    grads = []
    for where in ("cpu", device):
        x = torch.arange(6.0).reshape(2, 3).to(where).requires_grad_()
        y = torch.where(x > 2, x * x, x.t().mm(x).sum() * x).sum()
        y.backward()
        grads.append(gradient(x))
    torch.testing.assert_close(grads[0], grads[1])


def test_through_copies_between_devices(device: torch.device, other_device: torch.device) -> None:
    x = torch.arange(4.0).requires_grad_()
    there = x.to(device) * 2
    back = (there.to(other_device) * 3).cpu()
    (back * torch.arange(4.0)).sum().backward()
    assert torch.equal(gradient(x), torch.arange(4.0) * 6)
    half = torch.ones(3, device=device, requires_grad=True)
    half.to(torch.float64).to("cpu", torch.float32).sum().backward()
    assert gradient(half).tolist() == [1, 1, 1]


def test_through_views_and_writes(device: torch.device) -> None:
    x = torch.arange(6.0, device=device, requires_grad=True)
    y = x.view(2, 3).clone()
    y[0].mul_(3)
    y.t()[2].zero_()
    y.sum().backward()
    assert gradient(x).tolist() == [3, 3, 0, 1, 1, 0]


def test_a_consumer_on_another_stream(device: torch.device) -> None:
    first, second = torch.Stream(device), torch.Stream(device)
    for round_ in range(10):
        with first:
            x = torch.full((50_000,), float(round_), device=device, requires_grad=True)
            y = x * x
        second.wait_stream(first)
        with second:
            y.record_stream(second)
            loss = (y * 3).sum()
        loss.backward()
        torch.accelerator.current_stream().wait_stream(first)
        assert torch.equal(gradient(x), torch.full((50_000,), 6.0 * round_))


def test_backward_in_threads(device: torch.device) -> None:
    weight = torch.arange(1000.0, device=device)

    def work(index: int) -> None:
        for _ in range(5):
            x = torch.full((1000,), float(index), device=device, requires_grad=True)
            (x * x * weight).sum().backward()
            assert torch.equal(gradient(x), torch.arange(1000.0) * 2 * index)

    in_threads(4, work)


def test_threads_with_streams_of_their_own(device: torch.device) -> None:
    def work(index: int) -> None:
        with torch.Stream(device):
            x = torch.full((1000,), float(index), device=device, requires_grad=True)
            (x * x).sum().backward()
            assert torch.equal(gradient(x), torch.full((1000,), 2.0 * index))

    in_threads(4, work)


def test_hooks_run_on_the_device(device: torch.device) -> None:
    seen: list[torch.device] = []
    x = torch.ones(3, device=device, requires_grad=True)
    y = x * 2

    def double(grad: torch.Tensor) -> torch.Tensor:
        seen.append(grad.device)
        return grad * 2

    y.register_hook(double)
    x.register_post_accumulate_grad_hook(lambda tensor: seen.append(tensor.device))
    y.sum().backward()
    assert seen == [device, device]
    assert gradient(x).tolist() == [4, 4, 4]


def test_an_error_in_backward_is_raised(device: torch.device) -> None:
    x = torch.ones(3, device=device, requires_grad=True)
    y = x * 2

    def fail(grad: torch.Tensor) -> None:
        raise ValueError("from the hook")

    y.register_hook(fail)
    with pytest.raises(ValueError, match="from the hook"):
        y.sum().backward()
    x.sum().backward()
    assert gradient(x).tolist() == [1, 1, 1]


def test_gradients_of_gradients(device: torch.device) -> None:
    x = torch.arange(4.0, device=device, requires_grad=True)
    (first,) = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
    first.sum().backward()
    assert torch.equal(gradient(x), torch.arange(4.0) * 6)


def test_a_device_that_is_not_current(device: torch.device, other_device: torch.device) -> None:
    x = torch.ones(3, device=other_device, requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad is not None
    assert x.grad.device == other_device
    assert torch.accelerator.current_device_index() == device.index


def test_the_end_of_a_process_starts_no_threads(
    child: Callable[..., str], library: Path, backend_options: str
) -> None:
    program = """
import sys, torch, torch_tbk
from torch_tbk.device_module import _exit
module = torch_tbk.load(sys.argv[1], options=sys.argv[2])
x = torch.ones(3, device=module.backend_name)
_exit._wait_for_autograd()
before = _exit._threads()
x.requires_grad_()
(x * 2).sum().backward()
_exit._wait_for_autograd()
print(before, _exit._threads() > 0)
"""
    assert child(program, library, backend_options).split() == ["0", "True"]


AFTER_A_BACKWARD = """
import os, sys, torch, torch_tbk
x = torch.ones(3, requires_grad=True)
(x * 2).sum().backward()
name = torch_tbk.load(sys.argv[1], options=sys.argv[2]).backend_name
pid = os.fork()  # no thread has been started: a child may still use the device
y = torch.ones(3, device=name, requires_grad=True)
(y * 3).sum().backward()
assert y.grad.tolist() == [3, 3, 3]
(x * 2).sum().backward()
assert x.grad.tolist() == [4, 4, 4]
if pid:
    assert os.waitpid(pid, 0)[1] == 0
    print("done")
else:
    os._exit(0)
"""


def test_a_backward_before_the_backend_is_loaded(
    library: Path, backend_options: str, child: Callable[..., str]
) -> None:
    """PyTorch counts devices at its first backward pass, and never again."""
    assert child(AFTER_A_BACKWARD, library, backend_options) == "done\n"
