# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Where and when operators run: on the current stream, and on the device of their operands."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tbk_contracts.torch import check, host, missing, order
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.operators import layouts
from tbk_contracts.torch.operators.served import Watch, counted

Unary = Callable[[torch.Tensor], torch.Tensor]
CALLS: dict[str, Unary] = {
    "add": lambda x: x + x, "neg": torch.neg, "relu": torch.relu, "mm": lambda x: x @ x,
    "sum": lambda x: x.sum(0), "cumsum": lambda x: x.cumsum(0), "cat": lambda x: torch.cat([x, x]),
    "where": lambda x: torch.where(x > 0, x, -x), "amax": lambda x: x.amax(1),
    "clone": torch.clone, "contiguous": lambda x: x.t().contiguous(), "fill": lambda x: x * 0 + 7,
}  # fmt: skip


@pytest.mark.parametrize("name", list(CALLS))
@clause("OPS-532", needs="stream event dtype:float32")
def test_an_operator_runs_on_the_current_stream(device: torch.device, name: str) -> None:
    source = layouts.whole((16, 16), torch.float32)
    stream, other = torch.Stream(device), torch.Stream(device)
    call = CALLS[name]

    def written_before(load: order.Load) -> None:
        given = host.poisoned((16, 16), torch.float32, device)
        fresh = host.upload(source, device)
        load.hold()
        with order.on(stream):
            given.copy_(fresh)
            result = call(given)  # behind the load, and behind the copy
        load.mark()
        check.tensor(f"{name} on the current stream", order.read(stream, result), call(source))

    def elsewhere(load: order.Load) -> bool:
        given = host.poisoned((16, 16), torch.float32, device)
        fresh = host.upload(source, device)
        load.hold()
        with order.on(stream):
            given.copy_(fresh)
        with order.on(other):
            result = call(given)
        load.mark()
        return not torch.equal(order.read(other, result), call(source))

    order.show(stream, written_before, elsewhere)


@pytest.mark.parametrize("name", list(CALLS))
@clause("OPS-533", needs="two_devices dtype:float32")
def test_an_operator_works_while_another_device_is_current(
    device: torch.device, other_device: torch.device, name: str
) -> None:
    source = layouts.whole((16, 16), torch.float32)
    former = torch.accelerator.current_device_index()
    for current, used in ((device, other_device), (other_device, device)):
        torch.accelerator.set_device_index(current.index)
        try:
            result = CALLS[name](host.upload(source, used))
            check.equal("device of the result", result.device, used)
            check.equal("current device", torch.accelerator.current_device_index(), current.index)
            check.tensor(f"{name} on the other device", host.download(result), CALLS[name](source))
        finally:
            torch.accelerator.set_device_index(former)


# Some that few devices have of their own, and some that fewer have.
RARE: dict[str, Unary] = {
    "svdvals": torch.linalg.svdvals, "erfinv": torch.erfinv, "airy_ai": torch.special.airy_ai,
    "renorm": lambda x: x.renorm(2, 0, 1.0), "polygamma": lambda x: torch.polygamma(2, x),
    "median": lambda x: x.median(0).values, "qr": lambda x: torch.linalg.qr(x).R,
    "ndtri": torch.special.ndtri, "logcumsumexp": lambda x: x.logcumsumexp(0),
    "matrix_exp": torch.linalg.matrix_exp, "trace": torch.trace,
    "grid_sampler": lambda x: torch.nn.functional.grid_sample(
        x.reshape(1, 1, 16, 16), x.reshape(1, 8, 16, 2), align_corners=False),
}  # fmt: skip


@pytest.mark.parametrize("name", list(RARE))
@clause("OPS-558", needs="fallback_count dtype:float32")
def test_what_goes_to_the_host_is_counted(device: torch.device, name: str) -> None:
    placed = host.upload(host.values((16, 16)).clamp(-0.9, 0.9), device)
    watch = Watch(device)
    try:
        with watch:
            RARE[name](placed)
    except RuntimeError as error:
        if not missing.lacking(error):
            raise
        missing.tell(missing.operator(error))
        return
    check.that("the count after a call that made tensors on the host",
               watch.transfers == 0 or bool(watch.counted),
               expected="more than before", seen=f"{watch.transfers} tensors, counted "
               f"{watch.counted}")  # fmt: skip
    if not watch.transfers:
        check.evidence(check.NOT_SHOWN, "nothing went to the host")
    check.equal("the count is there", counted(device) is not None, True)
