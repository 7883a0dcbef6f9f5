# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The parts of PyTorch beside eager mode that meet a device: DLPack, fake tensors, compile, graphs,
and processes that share tensors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from multiprocessing.reduction import ForkingPickler
from typing import Any

import pytest
import torch
import torch.multiprocessing

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause

REFUSALS = (RuntimeError, NotImplementedError)
Function = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def through_a_capsule(tensor: torch.Tensor) -> torch.Tensor:
    made: torch.Tensor = torch.utils.dlpack.from_dlpack(tensor.__dlpack__())
    return made


def is_the_same(what: str, back: torch.Tensor, one: torch.Tensor) -> None:
    check.equal(f"{what}: the pointer", back.data_ptr(), one.data_ptr())
    check.equal(f"{what}: the device", back.device, one.device)
    check.equal(f"{what}: the strides", back.stride(), one.stride())
    check.tensor(f"{what}: the values", host.download(back), host.download(one))


@clause("INT-501")
def test_dlpack_keeps_pointer_device_and_strides(device: torch.device) -> None:
    there = host.upload(host.values((4, 6)), device)
    for what, one in (("a tensor", there), ("its transpose", there.t())):
        is_the_same(what, through_a_capsule(one), one)
    back = through_a_capsule(there)
    back.zero_()
    check.tensor("zeros written behind the capsule", host.download(there), torch.zeros(4, 6))


@clause("INT-501", needs="addresses")
def test_dlpack_keeps_a_view_that_begins_later(device: torch.device) -> None:
    view = host.upload(host.values((4, 6)), device).t()[1:, ::2]
    back, before = through_a_capsule(view), host.download(view)
    is_the_same("a part of a tensor", back, view)
    check.tensor("what an operator makes of it", host.download(back + back), 2 * before)
    back.add_(back)
    check.tensor("the part, once an operator has written it", host.download(view), 2 * before)


@clause("INT-501")
def test_dlpack_refuses_what_it_can_not_say(device: torch.device) -> None:
    """A capsule tells nothing of autograd, or of a conjugation."""
    there = host.upload(host.values((4,)), device)
    check.raises("a tensor that requires a gradient", BufferError,
                 there.clone().requires_grad_().__dlpack__)  # fmt: skip
    made = there.clone().requires_grad_() * 1
    check.raises("what was computed of one", BufferError, made.__dlpack__)
    is_the_same("it without its history", through_a_capsule(made.detach()), made.detach())


@clause("INT-501", needs="dtype:complex64")
def test_dlpack_refuses_a_conjugated_view(device: torch.device) -> None:
    there = host.upload(host.values((4,), torch.complex64), device)
    check.raises("a conjugated view", BufferError, there.conj().__dlpack__)


@clause("INT-502", needs="accelerator device_interface")
def test_the_device_interface_agrees_with_torch_accelerator(devices: list[torch.device]) -> None:
    from torch._dynamo.device_interface import get_interface_for_device  # noqa: PLC0415  # slow

    face: Any = get_interface_for_device(devices[0].type)
    accelerator, last = torch.accelerator, len(devices) - 1
    check.equal("device_count", face.device_count(), accelerator.device_count())
    check.equal("is_available", face.is_available(), accelerator.is_available())
    try:
        face.set_device(last)
        check.equal("set_device", accelerator.current_device_index(), last)
        check.equal("current_device", face.current_device(), last)
        check.equal("exchange_device", face.exchange_device(0), last)
        check.equal("the current device after it", accelerator.current_device_index(), 0)
        check.equal("maybe_exchange_device", face.maybe_exchange_device(last), 0)
        check.equal("the current device after it", accelerator.current_device_index(), last)
        check.equal("current_stream", face.current_stream().stream_id,
                    accelerator.current_stream().stream_id)  # fmt: skip
        made = face.Stream()
        check.equal("the device of Stream()", made.device, devices[last])
        with face.stream(made):
            check.equal("stream", accelerator.current_stream().stream_id, made.stream_id)
        face.synchronize(devices[last])
        check.equal("query after synchronize", made.query(), True)
    finally:
        accelerator.set_device_index(0)


FAKED: dict[str, Function] = {
    "add": lambda x, y: x + y,
    "add with broadcasting": lambda x, y: x + y[:1],
    "mm": lambda x, y: x @ y.t(),
    "sum": lambda x, y: x.sum(0),
    "mean of all": lambda x, y: (x * y).mean(),
    "cat": lambda x, y: torch.cat([x, y], 1),
    "view": lambda x, y: x.view(-1)[2:10:2],
    "transpose": lambda x, y: x.t().unsqueeze(1).expand(-1, 3, -1),
    "clone of a view": lambda x, y: y.t().clone(),
    "to another dtype": lambda x, y: x.to(torch.int64),
    "where": lambda x, y: torch.where(x > y, x, y),
    "index_select": lambda x, y: x.index_select(0, torch.zeros(2, dtype=torch.int64).to(x.device)),
    "comparison": lambda x, y: x < y,
    "zeros_like": lambda x, y: torch.zeros_like(x),
    "new_empty": lambda x, y: y.new_empty(2, 5),
    "softmax": lambda x, y: torch.softmax(x, 1),
    "linear": torch.nn.functional.linear,
    "copy_": lambda x, y: x.clone().copy_(y),
    "sort": lambda x, y: x.sort(1).indices,
    "to the host": lambda x, y: x.to("cpu"),
}


@clause("INT-503")
def test_a_fake_tensor_carries_device_and_shape(device: torch.device) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: PLC0415  # slow

    for name, function in FAKED.items():
        left, right = (host.upload(host.values((4, 6)), device) for _ in range(2))
        real = function(left, right)
        with FakeTensorMode() as mode:
            inputs = [mode.from_tensor(one) for one in (left, right)]
            check.equal("the device of a fake tensor", inputs[0].device, device)
            fake = function(*inputs)
        for what in ("device", "shape", "dtype"):
            check.equal(f"the {what} that a fake {name} gives", getattr(fake, what),
                        getattr(real, what))  # fmt: skip


@pytest.fixture
def fresh_compiler() -> Iterator[None]:
    """Nothing compiled before counts, and nothing is left. Warnings are PyTorch's own there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch._dynamo  # noqa: PLC0415  # slow

        torch._dynamo.reset()
        yield
    torch._dynamo.reset()


def mixed(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Returns some of what a model does."""
    hidden = torch.relu(left @ right.t() + 1)
    hidden = torch.cat([hidden, hidden.t().contiguous()], 1)
    hidden = hidden * torch.arange(hidden.shape[1], device=hidden.device)
    hidden[0] += 2
    return hidden.sum(1)


def results(function: Function, device: torch.device, inputs: list[torch.Tensor]) -> Any:
    """Output and gradients, on the host."""
    left, right = (host.upload(one, device).requires_grad_() for one in inputs)
    made = function(left, right)
    made.sum().backward()
    return [host.download(one) for one in (made, left.grad, right.grad) if one is not None]


@clause("INT-504", slow=True)
@pytest.mark.usefixtures("fresh_compiler")
def test_compiled_without_code_it_gives_the_same(device: torch.device) -> None:
    inputs = [host.counting((4, 3)), host.counting((4, 3)) - 5]  # whole numbers: sums are exact
    expected = results(mixed, device, inputs)
    for backend in ("eager", "aot_eager"):
        seen = results(torch.compile(mixed, backend=backend), device, inputs)
        check.equal("how many results there are", (len(seen), len(expected)), (3, 3))
        for what, one, two in zip(("the output", "a gradient", "a gradient"), seen, expected,
                                  strict=True):  # fmt: skip
            check.tensor(f"{what} of a function compiled by {backend}", one, two)


@clause("INT-505", needs="privateuse1", slow=True)
@pytest.mark.usefixtures("fresh_compiler")
def test_inductor_works_or_says_what_it_lacks(device: torch.device) -> None:
    sent = host.counting((4, 3))
    expected = host.download(host.upload(sent, device) * 2 + 1)
    compiled = torch.compile(lambda x: x * 2 + 1, backend="inductor")
    try:
        seen = host.download(compiled(host.upload(sent, device)))
    except Exception as error:
        check.that("the error of inductor", device.type in str(error),
                   expected="one that names the device", seen=str(error))  # fmt: skip
    else:
        check.tensor("what inductor computes", seen, expected)


@clause("INT-506")
def test_sharing_storage_with_a_process_works_or_raises(device: torch.device) -> None:
    sent = host.values((5, 3))
    there = host.upload(sent, device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pickled = ForkingPickler.dumps(there)
        except REFUSALS as error:
            check.that("the refusal to share", bool(str(error)), expected="says why", seen=error)
            check.tensor("the tensor after that", host.download(there), sent)
            return
        try:
            shared = ForkingPickler.loads(pickled)
        except REFUSALS:
            check.note("a tensor that is shared can't be opened in the process that shares it")
            check.tensor("the tensor after that", host.download(there), sent)
            return
    check.equal("the device of a shared tensor", shared.device, device)
    check.tensor("the values of a shared tensor", host.download(shared), sent)
    there.zero_()
    check.tensor("what is written to it afterwards", host.download(shared), torch.zeros(5, 3))


@clause("INT-507", needs="accelerator stream graph")
def test_a_graph_works_or_says_what_it_lacks(device: torch.device) -> None:
    first, second = host.values((8,)), host.values((8,))
    value, doubled = host.upload(first, device), host.upload(torch.zeros(8), device)
    torch.mul(value, 2, out=doubled)  # once before it is captured
    torch.accelerator.synchronize(device)
    try:
        graph = torch.accelerator.Graph()
        with graph:
            torch.mul(value, 2, out=doubled)
    except REFUSALS as error:
        check.that("the error of a graph", "graph" in str(error).lower(),
                   expected="one that speaks of graphs", seen=str(error))  # fmt: skip
    else:
        value.copy_(second)
        graph.replay()
        torch.accelerator.synchronize(device)
        check.tensor(
            "what a graph computes when it is replayed", host.download(doubled), second * 2
        )
    check.tensor("an operator after that", host.download(value + value), host.download(value) * 2)
