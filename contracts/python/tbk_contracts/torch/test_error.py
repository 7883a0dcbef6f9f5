# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Errors: they are exceptions of the right kind, and leave everything else as it was."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch.nn import functional

from tbk_contracts.torch import check, host, missing, order
from tbk_contracts.torch.case import clause, needs

TOO_LARGE = 1 << 50  # bytes: no address space has as many
NOWHERE = 99  # no host has as many devices
_names = itertools.count(1)
Failing = Callable[[torch.device], object]


def allocate(device: torch.device) -> object:
    return torch.empty(TOO_LARGE, dtype=torch.uint8, device=device)


def add_shapes(device: torch.device) -> object:
    return torch.ones(3).to(device) + torch.ones(4).to(device)


def multiply_shapes(device: torch.device) -> object:
    return torch.ones(3, 2).to(device) @ torch.ones(3, 2).to(device)


def view_size(device: torch.device) -> object:
    return torch.ones(3).to(device).view(2, 2)


def index_out_of_range(device: torch.device) -> object:
    return torch.ones(3).to(device)[3]


def copy_shapes(device: torch.device) -> object:
    return torch.ones(3).to(device).copy_(torch.ones(4))


def no_such_operator(device: torch.device) -> object:
    library = torch.library.Library(f"tbk_contracts_error_{next(_names)}", "DEF")
    library.define("nowhere(Tensor x) -> Tensor")
    try:
        return getattr(torch.ops, library.ns).nowhere(torch.ones(3).to(device))
    finally:
        library._destroy()


FAILING: tuple[Failing, ...] = (
    allocate, add_shapes, multiply_shapes, view_size, index_out_of_range, copy_shapes,
    no_such_operator,
)  # fmt: skip


def works(device: torch.device) -> None:
    values = host.values((100,), torch.int64)
    there = host.upload(values, device)
    check.tensor("work after an error", host.download(there + there), values * 2)


@pytest.mark.parametrize("fail", FAILING)
@clause("ERR-501")
def test_a_failure_is_an_exception(device: torch.device, fail: Failing) -> None:
    for _ in range(2):
        check.raises(fail.__name__, (RuntimeError, IndexError), partial(fail, device))
        works(device)


@clause("ERR-501", needs="accelerator")
def test_a_device_that_is_not_there_is_an_exception(device: torch.device) -> None:
    nowhere = torch.device(device.type, NOWHERE)
    calls: dict[str, Callable[[], object]] = {
        "a tensor there": lambda: torch.empty(3, device=nowhere),
        "a copy there": lambda: torch.ones(3).to(nowhere),
        "a copy there from the device": lambda: torch.ones(3).to(device).to(nowhere),
        "making it current": lambda: torch.accelerator.set_device_index(NOWHERE),
        "synchronising it": lambda: torch.accelerator.synchronize(nowhere),
        "its current stream": lambda: torch.accelerator.current_stream(nowhere),
    }
    for what, call in calls.items():
        check.raises(what, (RuntimeError, ValueError, AssertionError), call)
        works(device)


State = tuple[int, int, bool, torch.dtype]


def state(device: torch.device) -> State:
    """Returns what an error could leave otherwise."""
    return (
        torch.accelerator.current_device_index(),
        torch.accelerator.current_stream(device).stream_id,
        torch.is_grad_enabled(),
        torch.get_default_dtype(),
    )


@pytest.mark.parametrize("fail", FAILING)
@clause("ERR-502", needs="accelerator")
def test_an_error_leaves_the_rest_as_it_was(device: torch.device, fail: Failing) -> None:
    kept = host.values((100,))
    there = host.upload(kept, device)
    before = state(device)
    check.raises(fail.__name__, (RuntimeError, IndexError), partial(fail, device))
    check.equal("device, stream and modes", state(device), before)
    check.tensor("another tensor", host.download(there), kept)


@pytest.mark.parametrize("fail", FAILING)
@clause("ERR-502", needs="accelerator stream")
def test_an_error_leaves_the_current_stream(device: torch.device, fail: Failing) -> None:
    before, own = state(device), torch.Stream(device)
    with own:
        check.raises(fail.__name__, (RuntimeError, IndexError), partial(fail, device))
        check.equal("current stream", torch.accelerator.current_stream(device), own)
    check.equal("device, stream and modes behind it", state(device), before)


@pytest.mark.parametrize("fail", FAILING)
@clause("ERR-502", needs="accelerator stream two_devices")
def test_an_error_elsewhere_leaves_device_and_stream(
    device: torch.device, other_device: torch.device, fail: Failing
) -> None:
    own = torch.Stream(device)
    with own:
        before = state(device)
        check.raises(fail.__name__, (RuntimeError, IndexError), partial(fail, other_device))
        check.equal("device, stream and modes", state(device), before)
        check.equal("current stream", torch.accelerator.current_stream(device), own)


@clause("ERR-502", needs="accelerator")
def test_a_failed_write_changes_nothing(device: torch.device) -> None:
    kept = host.values((4, 3))
    there = host.upload(kept, device)
    calls: dict[str, Callable[[], object]] = {
        "copy_": lambda: there.copy_(torch.ones(5)),
        "add_": lambda: there.add_(torch.ones(5).to(device)),
        "setitem": lambda: there.__setitem__(slice(0, 2), torch.ones(5).to(device)),
        "view": lambda: there.view(5, 5),
        "index": lambda: there[7],
        "resize_": lambda: there.resize_(TOO_LARGE),
        "making a device current": lambda: torch.accelerator.set_device_index(NOWHERE),
    }
    for what, call in calls.items():
        kinds = (RuntimeError, IndexError, ValueError, AssertionError)
        check.raises(what, kinds, call)
        check.equal(f"shape after {what}", tuple(there.shape), (4, 3))
        check.tensor(f"values after {what}", host.download(there), kept)
        current = torch.accelerator.current_device_index()
        check.equal(f"current device after {what}", current, device.index)


def told(
    what: str, device: torch.device, call: Callable[[], object], *streams: torch.Stream
) -> None:
    """`call` ends by waiting: then an error of its kernel is there, or never comes."""
    try:
        call()
    except Exception as error:
        right = isinstance(error, (RuntimeError, IndexError))
        check.that(f"{what}, or synchronising", right, expected="RuntimeError or IndexError",
                   seen=f"{type(error).__name__}: {error}")  # fmt: skip
    else:  # an error that comes now is too late
        for stream in streams:
            stream.synchronize()
        works(device)
        check.evidence(check.NOT_SHOWN, "the device does not look whether an index is in range")


@pytest.mark.parametrize("name", ["gather", "index_select", "embedding"])
@clause("ERR-503", needs="accelerator", fresh=True)
def test_an_index_out_of_range_is_told_by_synchronising(device: torch.device, name: str) -> None:
    """The kernel meets it, at once or later; afterwards the device may be of no use."""
    x, index = host.upload(torch.ones(4, 3), device), host.upload(torch.tensor([[1 << 20]]), device)
    calls: dict[str, Callable[[], object]] = {
        "gather": lambda: x.gather(0, index),
        "index_select": lambda: x.index_select(0, index[0]),
        "embedding": lambda: functional.embedding(index[0], x),
    }

    def call() -> None:
        calls[name]()
        torch.accelerator.synchronize(device)

    told(name, device, call)


@pytest.mark.parametrize(("wait", "number"), [("stream", 40), ("device", 5), ("device", 40)])
@clause("ERR-503", needs="two_devices stream", fresh=True)
def test_an_error_of_a_later_stream_is_told(
    other_device: torch.device, wait: str, number: int
) -> None:
    """That of a stream behind others of the device, on one that is not current."""
    streams = [torch.Stream(other_device) for _ in range(number)]
    x = host.upload(torch.ones(4, 3), other_device)
    good, bad = (host.upload(torch.tensor([at]), other_device) for at in (1, 1 << 20))

    def call() -> None:
        for stream in streams:
            with order.on(stream):
                x.index_select(0, bad if stream is streams[-1] else good)
        if wait == "stream":
            streams[-1].synchronize()
        else:
            torch.accelerator.synchronize(other_device)

    told(f"index_select on stream {number}", other_device, call, *streams)


@clause("ERR-505")
def test_a_missing_operator_is_named(device: torch.device) -> None:
    raised = check.raises(
        "an operator that nobody has", NotImplementedError, partial(no_such_operator, device)
    )
    named = re.search(r"tbk_contracts_error_\d+::nowhere", str(raised)) is not None
    check.that("the message", named, expected="the operator's name", seen=str(raised))


Bad = Callable[[Any], object]
BAD: dict[str, Bad] = {
    "add": lambda to: torch.add(to(torch.ones(3)), to(torch.ones(4))),
    "add_in_place": lambda to: to(torch.ones(3)).add_(to(torch.ones(2, 3))),
    "bitwise_and": lambda to: to(torch.ones(3)) & to(torch.ones(3)),
    "cat": lambda to: torch.cat([to(torch.ones(2, 3)), to(torch.ones(2, 4))]),
    "cat_of_nothing": lambda to: torch.cat([]),
    "chunk": lambda to: to(torch.ones(3)).chunk(0),
    "conv": lambda to: functional.conv1d(to(torch.ones(1, 2, 5)), to(torch.ones(3, 4, 2))),
    "dim": lambda to: to(torch.ones(3)).sum(4),
    "div_in_place": lambda to: to(torch.ones(3, dtype=torch.int64)).div_(2),
    "dot": lambda to: torch.dot(to(torch.ones(2, 2)), to(torch.ones(2))),
    "expand": lambda to: to(torch.ones(3)).expand(4),
    "gather": lambda to: to(torch.ones(3)).gather(0, to(torch.ones(3))),
    "index": lambda to: to(torch.ones(3))[5],
    "index_too_many": lambda to: to(torch.ones(3))[0, 0],
    "item": lambda to: to(torch.ones(3)).item(),
    "linear": lambda to: functional.linear(to(torch.ones(2, 3)), to(torch.ones(2, 2))),
    "masked_fill": lambda to: to(torch.ones(3)).masked_fill(to(torch.ones(3)), 1),
    "mean_of_integers": lambda to: to(torch.ones(3, dtype=torch.int64)).mean(),
    "mm": lambda to: torch.mm(to(torch.ones(2, 3)), to(torch.ones(2, 3))),
    "mm_of_dtypes": lambda to: torch.mm(to(torch.ones(2, 2)), to(torch.ones(2, 2).double())),
    "narrow": lambda to: to(torch.ones(3)).narrow(0, 2, 5),
    "out_dtype": lambda to: torch.add(
        to(torch.ones(3)), 1, out=to(torch.ones(3, dtype=torch.int32))
    ),
    "permute": lambda to: to(torch.ones(2, 3)).permute(0, 0),
    "reshape": lambda to: to(torch.ones(3)).reshape(2, 2),
    "select": lambda to: to(torch.ones(3)).select(1, 0),
    "squeeze": lambda to: to(torch.ones(3)).squeeze(3),
    "stack": lambda to: torch.stack([to(torch.ones(3)), to(torch.ones(2))]),
    "sub_of_booleans": lambda to: to(torch.ones(3) > 0) - to(torch.ones(3) > 0),
    "truth": lambda to: bool(to(torch.ones(3))),
    "where": lambda to: torch.where(to(torch.ones(3) > 0), to(torch.ones(3)), to(torch.ones(4))),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=needs("dtype:float64") if name == "mm_of_dtypes" else ())
     for name in BAD],
)  # fmt: skip
@clause("ERR-506")
def test_errors_are_of_the_type_that_the_host_raises(device: torch.device, name: str) -> None:
    expected = check.raises(f"{name} on the host", Exception, lambda: BAD[name](lambda one: one))
    seen = check.raises(name, Exception, lambda: BAD[name](lambda one: host.upload(one, device)))
    if type(seen) is not type(expected) and missing.lacked(seen):
        raise seen
    is_one = isinstance(seen, type(expected)) and not isinstance(seen, torch.OutOfMemoryError)
    check.that(f"type of the error of {name}", is_one, expected=type(expected).__name__,
               seen=type(seen).__name__)  # fmt: skip
    works(device)


@clause("ERR-508", needs="accelerator")
def test_out_of_memory_says_where_and_how_much(device: torch.device) -> None:
    raised = check.raises("too much", torch.OutOfMemoryError, partial(allocate, device))
    text = str(raised)
    named = rf"(device|gpu|card|{re.escape(device.type)})"
    index = re.search(
        rf"{named}[\s#:=(]*((id|index|no|number|ordinal)\b[\s#:=.]*)?{device.index}\b", text, re.I
    )
    check.that("the device", index is not None, expected=f"its index, {device.index}", seen=text)
    amount = re.search(r"\d[\d.,]*\s*(bytes?|[KMGTPE]?i?B)\b", text, re.I)
    check.that("how much", amount is not None, expected="a number of bytes", seen=text)
